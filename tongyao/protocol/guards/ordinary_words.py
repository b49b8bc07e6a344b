"""English words that occur in texts on any subject."""

from __future__ import annotations

from typing import Final

ORDINARY_ENGLISH: Final = frozenset(
    """
    a able about above across after afternoon afterwards again against all almost alone along already also although always am among amongst
    amoungst amount an and another any anybody anyhow anyone anything anyway anywhere april are around as ask asked asks at august back be
    became because become becomes becoming been before beforehand behind being below beside besides best better between beyond big bill bit
    bits both bottom bring brings brought busy but by call called came can can't cannot cant care case cent close closed closes co come
    comes con cost costs could couldnt couple cry daily day days de december describe detail didn't different do doesn't doing dollar
    dollars don't done down dozen dozens due during each early easy eg eight eighteen eighty either eleven else elsewhere empty end enough
    etc euro euros even evening ever every everybody everyone everything everywhere except fact far february feel feels feet felt few
    fifteen fifty fill find fine fire first five foot for former formerly forty found four fourteen free friday from front full further gave
    get gets give given gives go goes going gone good got gram grams had half hand hands hard has hasnt have having he held help helps hence
    her here hereafter hereby herein hereupon hers herself him himself his hold holds home hour hours house how however hundred i i'd i'm
    i've ie if in inc inch inches indeed interest into is isn't it it's its itself january july june just keep keeps kept kilo kilogram
    kilograms kilometer kilometers kilometre kilometres kilos kind knew know known knows last late later latter latterly least left less let
    lets like liked liter liters litre litres little long look looked looking looks lot lots ltd made make makes many march matter matters
    may me meanwhile meter meters metre metres midnight might mile miles mill mind mine minute minutes miss missed monday month months more
    moreover morning most mostly move much must my myself name namely near need needed needs neither never nevertheless new next nice night
    nine nineteen ninety no nobody none noon noone nor not nothing november now nowhere number numbers october of off offer offered offers
    often old on once one only onto open opened opens or other others otherwise our ours ourselves out over own paid part parts pay pays
    people per percent perhaps person persons place places please point pound pounds put ran rather re read ready really right run running
    runs said same saturday say says second see seem seemed seeming seems september serious set seven seventeen seventy several she short
    should show showed shown side sides since sincere six sixteen sixty small so some somebody somehow someone something sometime sometimes
    somewhere soon sort start started still stop stopped stuff such sunday sure system take taken takes tell tells ten than that that's the
    their them themselves then thence there thereafter thereby therefore therein thereupon these they thick thin thing things think thinks
    third thirteen thirty this those though thought thousand three through throughout thru thursday thus time times to today together told
    tomorrow ton tonne tonnes tons too took top toward towards tried true try tuesday turn turned twelve twenty two un under until up upon
    us use used uses using very via want wanted wants was way ways we wednesday week weekly weeks well went were what whatever when whence
    whenever where whereafter whereas whereby wherein whereupon wherever whether which while whither who whoever whole whom whose why will
    with within without won't work worked working works would write written wrong wrote yards year years yesterday yet you your yours
    yourself yourselves
    """.split()
)
