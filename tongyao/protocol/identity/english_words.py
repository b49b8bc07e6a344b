"""What stands beside, before and inside English names of persons, firms and places. Data for `names_english`."""

from __future__ import annotations

import re
from typing import Final

from tongyao.protocol.identity.common_words import PLACE_WORDS

GIVEN: Final = frozenset(
    """
    aaron abby abdul abigail abraham adam adele adrian agatha agnes ahmed aidan aileen aisha alan alana alastair albert alec alex alexander alexandra
    alfie alfred ali alice alicia alina alison alistair allan allen alma alvin amanda amara amber amelia amina amir amit amos amy ana anastasia anders
    andre andrea andreas andrew andy angela angelica angus anil anita ann anna annabel anne anneke annette annie anselm anthea anthony antoine anton antonio anya
    archie arianna arlene arlo arnold arthur arturo asha ashley astrid audrey augusta aurora avery ayesha barbara barnaby barney barry bart basil bea beatrice becky
    belinda ben benedict benjamin bernadette bernard bert bertha bertie beryl bess bessie beth bethan betsy betty beverley bianca billie billy bjorn
    blake blanche bob bobby bonnie boris brad bradley brandon brenda brendan brent brian brianna bridget bronwen bruce bruno bryan byron caitlin callum calvin cameron camille
    candice cara carl carla carlos carmen carol carole caroline carrie caspar cassandra catherine cathy cecil cecilia cedric celia chad chandra charles charlie charlotte
    chelsea cheryl chester chloe chris christina christine christopher cindy clara clarence clarissa claude claudia clement cleo clive clyde colette colin connie connor conrad constance cora
    cordelia corinne cormac craig curtis cynthia cyril cyrus daisy damian damien dan dana daniel danielle danny daphne darren dave david davinder debbie deborah declan deirdre delia
    della delphine denis denise dennis derek dermot desmond diana diane dick diego dilys dimitri dinah dolores dominic don donald donna dora doreen doris dorothea dorothy doug
    douglas doyle duncan dwight dylan eamon ed eddie edgar edith edmund edna eduardo edward edwin eileen elaine eleanor elena eli elias elijah elise elizabeth ella ellen ellie elliot
    elsa elsie elspeth elvira emil emily emma emmanuel enid enrique eric erica erik erin ernest ernie esme esther ethan ethel eugene eunice eva evan evelyn fabian faisal farah fatima fatou
    felicity felix fenella ferdinand fergus fernando fiona fleur florence florian frances francesca francis francisco frankie franz fred freda freddie frederick freya frieda gabriel gabriela gareth
    gary gavin gemma geoff geoffrey george georgia georgina gerald geraldine gerard gerry gertrude gethin gideon gilbert giles gillian gina giorgio giovanni gladys glenda glenn gloria godfrey gordon graham
    greg gregory greta gretchen gretel guido gus gustav gwen gwendolyn hal hamid hamish hank hanna hannah hans harold harriet harriett harvey hassan hattie hector heidi heinrich helen helena
    helga henrietta henrik henry herbert herman hetty hilary hilda hiroshi horace howard hubert hugh hugo humphrey ian ibrahim ida ignacio igor ike ilse imogen ina india ines inga ingrid iona ira irene irina
    irma isaac isabel isabella isobel ishmael isla ivan ivor jackie jacob jacqueline jacques jaime jake jamal james jamie jan jana janet janice jared jason jasper javier jeff jeffrey
    jenna jennifer jenny jeremy jerome jerry jess jesse jessica jill jim jo joan joanna jocelyn jodie joe joel johan johanna johannes jolene jon jonas jonathan jools
    jordan jorge jose joseph josephine josh joshua josie joyce juan juanita judith judy jules julia julian julie juliet julio jurgen justin kai karen karim karin karl karla kate katherine kathleen kathy
    katie katja katrina kay keith kelly kelvin ken kenji kenneth kenny kerry kevin khalid kieran kirsten kirsty kit klaus kofi kristin kurt kwame kyle lara larissa larry lars latisha laura lauren
    laurence lawrence leah leila len lena leo leon leona leonard leonora leopold leroy les leslie lester letitia lewis liam lila lilian liliana lina linda lindsay linus lionel lisa liz lizzie lloyd
    lois lola lorenzo loretta lorna lorraine lottie lou louis louisa louise lucas lucia lucian lucille lucinda lucy ludwig luigi luis luka luke luther lydia lyle lynn lynne mabel mable maddie madeleine madge mae
    maggie magnus mahmoud maisie malcolm malik mandy manfred manuel marcel marcia marco marcus margaret margarita margery margot marguerite maria mariam marian marianne marie mariam marilyn mario marion marissa marjorie
    marlene marta martha martin marty marvin mary mathilda matilda matt matthew mattie maud maude maureen maurice mavis maxine maxwell meg megan mehmet melanie melinda melissa mercedes meredith mervyn mia michael
    michelle mick miguel mikhail mildred millicent millie mimi mina minnie mira miranda miriam mitchell mohamed mohammed moira molly mona monica morag morgan morris moses muhammad muriel murray myra myrtle nadia
    nadine nan nancy naomi nasreen nat natalia natalie natasha nathan nathaniel ned neil nell nellie nelson nerys nessa nettie neville ngozi niall nicholas nicola nicole nigel nikolai nils nina noah noel noor nora norah norma
    norman odette ola oleg olga oliver olivia ollie olwen omar oona orla orson orville oscar osman oswald otis otto owen pablo paddy pamela paolo parveen pascal patricia patrick patsy patti patty paul paula pauline
    pavel pedro penelope percival percy perdita pete petra phil philip philippa phillip phoebe phyllis pia pierre piet pilar polly prakash priscilla priya prudence quentin rachel rafael rahul raj rajesh ralph
    ramon ramona randolph randy raphael rashid raul raymond rebecca reggie reginald reuben rex rhiannon rhoda rhona rhys ricardo richard rick ricky rita robbie robert roberta roberto rodney roger roland rolf roman
    ron ronald ronan ronnie rory rosa rosalie rosalind rosalyn rosanna rosemarie rosie ross rowan rowena roxanne roy rudolf rufus rupert russell ruth ryan sabina sabrina sadie salim sally salma sam samantha
    samir samuel sandra sanjay santiago sara sarah saskia saul sean sebastian selina selma serena sergei seth shane shannon sharon shaun sheila sheldon sherman shirin shirley sibyl sid sidney siegfried sigrid silas
    silvia simon simone siobhan sofia solomon sonia sophia sophie stan stanley stefan stefano stella stephanie stephen steve steven stewart stuart susan susanna susie suzanne sven sybil sylvia tabitha tamara tamsin tanya tara
    tariq ted teresa tessa thea thelma theo theodora theodore theresa thomas tilda tilly tim timothy tina tobias toby todd tomas tomasz tracey tracy trevor tricia tristan trudy una ursula uwe val valentina valerie vanessa
    vera vernon veronica vicky victoria vijay vikram vince vincent viola virgil virginia vivian vivienne vladimir walt walter wanda wayne wendy wesley wilbur wilf wilfred wilhelm wilhelmina wilma winifred winnie winston
    wolfgang xavier yasmin yolanda yosef yuki yusuf yvette yvonne zach zachary zainab zara zelda zoe zora dell perce pip ottilie
    """.split()
)  # fmt: skip
"""Given names that are no ordinary words."""

LANGUAGES: Final = frozenset(
    """
    english french german spanish italian chinese polish dutch welsh irish scottish scots british european american russian turkish arabic portuguese romanian bulgarian
    hungarian czech slovak slovene slovenian croatian serbian bosnian albanian greek hebrew yiddish hindi urdu punjabi bengali gujarati tamil telugu sinhala nepali tibetan mandarin
    cantonese japanese korean vietnamese thai burmese khmer lao malay indonesian tagalog filipino persian farsi dari pashto kurdish armenian georgian azeri ukrainian belarusian
    lithuanian latvian estonian finnish swedish norwegian danish icelandic gaelic breton cornish basque catalan galician latin esperanto swahili somali amharic tigrinya oromo
    hausa yoruba igbo zulu xhosa afrikaans maori hawaiian samoan navajo cherokee inuit romani romany flemish swiss austrian belgian african asian indian pakistani
    bangladeshi iranian iraqi syrian lebanese egyptian moroccan algerian tunisian libyan sudanese ethiopian eritrean kenyan nigerian ghanaian senegalese mexican brazilian
    argentine argentinian chilean peruvian colombian cuban haitian jamaican canadian australian catholic protestant anglican methodist baptist quaker muslim islamic jewish christian
    buddhist hindu sikh orthodox victorian edwardian georgian gothic roman norman celtic nordic baltic balkan mediterranean atlantic pacific arctic alpine bsl braille morse
    """.split()
)
TIMES: Final = frozenset(
    """
    january february march april may june july august september october november december monday tuesday wednesday thursday friday saturday sunday
    mondays tuesdays wednesdays thursdays fridays saturdays sundays jan feb mar apr jun jul aug sep sept oct nov dec mon tue tues wed thu thur thurs fri sat sun
    easter christmas lent ramadan eid diwali advent whitsun michaelmas halloween hogmanay passover hanukkah pentecost epiphany candlemas lammas xmas boxing thanksgiving
    spring summer autumn winter midsummer midwinter
    """.split()
)
PLACES: Final = frozenset(
    """
    africa america asia europe england scotland wales ireland britain cornwall devon kent essex sussex surrey yorkshire lancashire norfolk suffolk dorset cumbria wessex london
    manchester liverpool leeds birmingham bristol sheffield glasgow edinburgh aberdeen dundee cardiff swansea belfast dublin cork galway oxford cambridge brighton york hull
    france germany spain portugal italy greece turkey russia poland ukraine romania bulgaria hungary austria switzerland belgium holland netherlands denmark sweden norway
    finland iceland estonia latvia lithuania serbia croatia bosnia albania slovenia slovakia egypt morocco algeria tunisia libya sudan ethiopia eritrea somalia kenya uganda
    tanzania nigeria ghana senegal mali angola zambia zimbabwe mozambique namibia israel palestine lebanon syria iraq iran yemen oman qatar kuwait afghanistan pakistan
    bangladesh nepal tibet bhutan burma myanmar thailand laos cambodia vietnam malaysia indonesia philippines taiwan korea japan mongolia china australia canada mexico
    guatemala honduras nicaragua panama colombia venezuela ecuador peru bolivia chile argentina uruguay paraguay brazil cuba haiti jamaica trinidad barbados texas california
    oregon nevada utah arizona idaho wyoming colorado kansas nebraska oklahoma iowa ohio illinois michigan wisconsin minnesota missouri arkansas louisiana mississippi
    alabama tennessee kentucky virginia carolina delaware maryland pennsylvania vermont maine massachusetts connecticut alaska hawaii paris lyon marseille nice bordeaux berlin
    hamburg munich cologne frankfurt dresden leipzig vienna salzburg zurich geneva basel brussels antwerp ghent bruges amsterdam rotterdam utrecht lisbon porto madrid
    barcelona seville valencia granada rome milan naples turin venice florence bologna palermo sicily sardinia corsica crete cyprus malta athens istanbul ankara izmir sofia
    bucharest belgrade zagreb budapest prague warsaw krakow gdansk riga vilnius tallinn helsinki stockholm oslo bergen copenhagen moscow odessa kiev kyiv minsk tbilisi baku
    cairo alexandria tunis algiers casablanca fez dakar accra lagos nairobi kampala addis asmara durban johannesburg harare baghdad damascus beirut tehran kabul lahore karachi delhi
    mumbai calcutta kolkata chennai madras bangalore dhaka kathmandu rangoon bangkok hanoi saigon singapore jakarta manila beijing shanghai hong kong tokyo kyoto osaka seoul sydney
    melbourne perth adelaide auckland wellington toronto montreal vancouver chicago boston philadelphia detroit denver seattle dallas houston atlanta miami orleans tenerife
    majorca mallorca ibiza madeira bali anatolia bohemia bavaria tuscany provence brittany normandy flanders catalonia andalusia siberia scandinavia
    """.split()
)
"""Countries, regions and large cities. `florence`, `virginia`, `sofia` and the like are also given names: what stands before decides."""

TITLE: Final = re.compile(
    r"(?:Mr|Mrs|Ms|Miss|Mx|Dr|Prof|Professor|Father|Fr|Sister|Brother|Pastor|Captain|Capt|Uncle|Aunt|Auntie|Aunty|Granny|Grandpa|Nan|Sir|Lady|Lord|Dame|Rev|Reverend|"
    r"Judge|Sheriff|Sergeant|Sgt|Major|Colonel|Constable|Nurse|Matron|Imam|Rabbi|Canon|Deacon|Coach|Chef)\.?$"
)
NICK_BEFORE: Final = frozenset("old big little young wee tall long fat uncle auntie".split())
FIRM: Final = re.compile(
    r"(?:Ltd|Limited|Inc|LLC|GmbH|Plc|PLC|Co|Company|Corporation|Corp|Sons?|Daughters?|Brothers|Bros|Nephews?|Bakery|Bakers|Brewery|Brewers|Kitchens?|Bank|Logistics|Motors|Foods|Books|"
    r"Bookshop|Garage|Solutions|Systems|Insurance|Services|Builders|Building|Joinery|Joiners|Carpentry|Printers|Printing|Press|Cafe|Café|Restaurant|Hotel|Stores?|Supplies|Supply|Partners|"
    r"Associates|Consulting|Consultants|Studios?|Dairy|Dairies|Farms|Nurser(?:y|ies)|Playgroup|Kindergarten|Transport|Haulage|Freight|Energy|Software|Labs?|Laboratories|Hire|Rentals?|Cleaners|Laundry|Launderette|"
    r"Laundrette|Optical|Opticians|Clinic|Practice|Surgery|Vets|Pharmacy|Chemists?|Salon|Barbers|Butchers|Fishmongers|Grocers|Greengrocers|Florists?|Hardware|Ironmongers|Electrics?|Electrical|Electronics|Plumbing|Roofing|Heating|"
    r"Scaffolding|Timber|Steel|Metals|Plastics|Textiles|Mills?|Industries|Works|Hatchery|Cannery|Fisheries|Seafoods|Meats|Marine|Boatyard|Shipping|Ferries|Railways?|Airlines|Airways|Coaches|Taxis|Cabs|Cars|Cycles|Tyres|Trailers|"
    r"Feed|Seeds?|Tarp|Canvas|Cooperative|Co-op|Coop|Holdings|Group|Trust|Agency|Media|Films|Pictures|Records|Publishing|Publishers|Design|Designs|Interiors|Furniture|Pottery|Ceramics|Textile|Tailors|Tailoring|Upholstery|"
    r"Catering|Caterers|Events|Security|Finance|Mutual|Solicitors|Accountants|Architects|Engineering|Engineers|Instruments|Tools|Machinery|Equipment|Kinship|Homes|Care)$"
)
PLACE: Final = re.compile(rf"(?:{'|'.join(PLACE_WORDS)})$", re.IGNORECASE)
PLACE_BEFORE: Final = re.compile(
    r"(?:\b(?:in|at|near|around|above|below|between|outside|towards?|through|across|beyond|via|into|over|throughout|within|upon)\s(?:\w+ and\s)?|"
    r"\b(?:ferry|bus|train|road|way|trains?|flights?|flew|drives?|drove|driven|moved?|goes?|went|gone|going|travels?|travelled|came back|sail(?:s|ed)?|walk(?:s|ed)?|route|back) (?:to|from)\s|\briver\s|"
    r"\b(?:town|village|city|isle|island|county|borough|port|parish|north|south|east|west|edge|outskirts|streets|coast|shore|(?:north|south|east|west)(?:ern)? side) of\s|"
    r"\b(?:boat|ferry|bus|coach|tram|train|flight|plane|ship|sailing|crossing)s? (?:(?:that|which) )?(?:leaves?|leaving|reach(?:es|ing)?|serves?|serving)\s|"
    r"\b(?:man|woman|people|those|depot|train|bus|comes?|came|someone|somebody|families|refugees|letters?|miles|shipped|imported) from\s)$",
    re.IGNORECASE,
)
KIN: Final = re.compile(
    r"\b(?:my|our|his|her|their|your|the)\s+(?:\w+\s+)?(?:sister|brother|neighbou?r|colleague|friend|wife|husband|son|daughter|boss|partner|mother|father|cousin|uncle|aunt|nephew|niece|teacher|"
    r"tenant|landlord|landlady|grandson|granddaughter|grandmother|grandfather|nan|gran|mate|flatmate|housemate|apprentice|assistant|foreman|caretaker|warden|vicar|driver|clerk|porter|cook|baker|butcher|"
    r"gardener|plumber|electrician|carpenter|joiner|mechanic|vet|nurse|midwife|director|conductor|stage manager|treasurer|chair|secretary|in-law),?\s$",
    re.IGNORECASE,
)
NAMED_BEFORE: Final = re.compile(
    r"\b(?:(?:man|woman|boy|girl|lad|lass|fellow|chap|bloke|lady|gentleman|neighbou?r|driver|person|friend|teacher) (?:called|named)|I am|I'm|I’m|[Mm]y name is|[Mm]y name's|known as|call me|calls? (?:him|her))\s$"
)
ASKED: Final = re.compile(
    r"\b(?:ask|asks|asked|tell|tells|told|ring|rings|rang|phone|phoned|call|called|thank|thanked|meet|met|marry|married|help|helped|pay|paid|thanks to|talk to|talked to|talks to|spoke to|speak to|spoken to|listen to|belongs? to|owe|owes|owed|hired|it was|"
    r"give|gives|gave|send|sent|lend|lends|lent|teach|taught|stop|stopped|let|saw|see|seen|know|knew|trust|trusted|numbers to|with|without|by|like|since|miss|missed|visit|visited|borrow(?:ed)? \w+ from|"
    r"learn(?:ed|t)? (?:it|that|this|\w+) from|for)\s$",
    re.IGNORECASE,
)
CLAUSE: Final = re.compile(
    r"\b(?:if|whether|when|because|that|before|after|until|than|while|unless|once|though|although|where|how|what|and|but|so|as|days?|who|time|one|two|three|says|said|think|thinks|thought|hope|it)\s$",
    re.IGNORECASE,
)
SPEAKS: Final = re.compile(
    r"^(?:,? (?:and I|and me|and my)\b|\s(?:says?|said|asks?|asked|lends?|lent|taught|teaches|knows?|knew|told|tells|thinks?|thought|wants?|wanted|keeps?|kept|drives?|drove|sells?|sold|signs?|signed|measured|owns?|owned|"
    r"showed|shows|gave|gives|lives?|lived|works?|worked|helps?|helped|offers?|offered|makes?|made|builds?|built|promised?|promises|rang|rings|phoned|brought|brings|came|comes|went|goes|left|leaves|died|"
    r"married|retired|swears?|swore|agrees?|agreed|refuses|refused|rents?|rented|opens?|opened|plays?|played|sings?|sang|does|did|stands in|writes|wrote|reads|walks|walked|cooks|cooked|paints|painted|mends|mended|fixes|fixed|"
    r"looks|looked|takes|took|runs|ran|needs|passed away|and (?:her|his|their)\b|the (?:\w+ )?(?:man|woman|butcher|baker|driver|plumber|cook|clerk|vet|nurse|farmer|mechanic|smith|carpenter|painter|porter|gardener|milkman|postman)))"
    r"(?![a-z])"
)
STANDS_ON: Final = re.compile(r"\b(?:on|onto|off|along)\s$", re.IGNORECASE)
"""Before an island or a street: of "the nurse on Tarsk gave notice" the verb tells about the nurse."""
SAYS: Final = re.compile(
    r"^\s(?:says?|said|asks?|asked|lends?|lent|taught|teaches|told|tells|thinks?|thought|promised|rang|swears?|swore|agreed|refuses|refused|married|retired)\b|^(?:,? and I| and me)\b"
)
"""After a word at the beginning of a sentence: what only persons do."""
VERB_LIKE: Final = re.compile(r"^\s(?:[a-z]{2,}(?:ed|s|ing)|is|was|had|did|can|could|will|would|went|came|got|put)\b")
ORDINARY_END: Final = re.compile(
    r"(?:tions?|sions?|ments?|ness|ity|ities|ive|ous|ance|ances|ence|ences|ship|ics|able|ible|ology|ings?|ists?|isms?|ized|ised|ful|less|ery|ure|ures|ward|wards|als|ers|ors|ism|(?<=[a-z]{3})ages?|ated|ator|ators|ians|ies)$"
)
ROLE_WORDS: Final = frozenset(
    "award prize forum union society club association committee league federation institute foundation network board chair founder winner finalist speaker fellow commodore governor alumnus alumni advisor adviser officer "
    "executive visionary strategist facilitator consultant thinker keynote leader head senior junior chief vice deputy honorary certified global digital golden silver regional national international conference festival "
    "service forest act week day year scheme project programme program plan players singers dancers choir band orchestra quartet unit flat level route page chapter volume issue grade stage room book books".split()
)
CONNECTORS: Final = frozenset(
    "and & of the de den van von der da di la le el al du del della dos das bin ibn ben".split()
)
