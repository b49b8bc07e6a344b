#!/bin/sh
# Writes docker-compose.override.yml, in which every image of others is pinned by the digest that the registry gives for its
# version now. Needs Docker with buildx. Compare the file with the one of your last installation before you start anything from it.
set -eu
cd "$(dirname "$0")/.."
to=docker-compose.override.yml
[ ! -e "$to" ] || { echo "$to is there already: move it away first" >&2; exit 1; }
temporary="$to.$$"
trap 'rm -f "$temporary"' EXIT
echo "services:" > "$temporary"
# "  name: # a comment" begins a service, "    image: repository:version" names its image.
sed -n 's/^  \([a-z][a-z-]*\):\( .*\)\{0,1\}$/service \1/p; s/^    image: \([^ ]*\)$/image \1/p' docker-compose.yml |
while read -r what value; do
    case "$what" in
        service) service=$value ;;
        image)
            digest=$(docker buildx imagetools inspect --format '{{.Manifest.Digest}}' "$value")
            case "$digest" in
                sha256:????????????????????????????????????????????????????????????????) ;;
                *) echo "no digest for $value: $digest" >&2; exit 1 ;;
            esac
            printf '  %s:\n    image: %s@%s\n' "$service" "$value" "$digest" >> "$temporary"
            ;;
    esac
done
mv "$temporary" "$to"
echo "wrote $to"
