// Everything works without this script. It keeps pages fresh, drafts kept, and the reader's time zone known.
"use strict";

document.documentElement.classList.add("script");

const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
if (zone && !document.cookie.includes(`tongyao_zone=${zone}`)) {
  document.cookie = `tongyao_zone=${zone}; path=/console; max-age=31536000; samesite=lax`;
}
