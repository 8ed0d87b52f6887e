"""Countries in the regions of the world: what a specification means by `codes = "countries"`.

A table of facts, no code of ours: the builder of hierarchies and the audit each find their way in it by themselves.
Regions follow the United Nations' division of the world into continents and parts of them. A country is called by its
codes of two and of three letters (ISO 3166-1), by its usual English name, and by some others that tables have.
"""

CONTINENTS: dict[str, tuple[str, ...]] = {
    "Africa": ("Northern Africa", "Eastern Africa", "Middle Africa", "Southern Africa", "Western Africa"),
    "America": ("Northern America", "Central America", "Caribbean", "South America"),
    "Asia": ("Central Asia", "Eastern Asia", "South-eastern Asia", "Southern Asia", "Western Asia"),
    "Europe": ("Eastern Europe", "Northern Europe", "Southern Europe", "Western Europe"),
    "Oceania": ("Australia and New Zealand", "Pacific islands"),
}

_TABLE = """
Northern Africa: DZ DZA Algeria; EG EGY Egypt; LY LBY Libya; MA MAR Morocco; SD SDN Sudan; TN TUN Tunisia;
    EH ESH Western Sahara
Eastern Africa: BI BDI Burundi; KM COM Comoros; DJ DJI Djibouti; ER ERI Eritrea; ET ETH Ethiopia; KE KEN Kenya;
    MG MDG Madagascar; MW MWI Malawi; MU MUS Mauritius; YT MYT Mayotte; MZ MOZ Mozambique; RE REU Réunion=Reunion;
    RW RWA Rwanda; SC SYC Seychelles; SO SOM Somalia; SS SSD South Sudan; UG UGA Uganda;
    TZ TZA Tanzania=United Republic of Tanzania; ZM ZMB Zambia; ZW ZWE Zimbabwe
Middle Africa: AO AGO Angola; CM CMR Cameroon; CF CAF Central African Republic; TD TCD Chad;
    CG COG Congo=Republic of the Congo; CD COD DR Congo=Democratic Republic of the Congo=Zaire;
    GQ GNQ Equatorial Guinea; GA GAB Gabon; ST STP São Tomé and Príncipe=Sao Tome and Principe
Southern Africa: BW BWA Botswana; SZ SWZ Eswatini=Swaziland; LS LSO Lesotho; NA NAM Namibia; ZA ZAF South Africa
Western Africa: BJ BEN Benin; BF BFA Burkina Faso; CV CPV Cabo Verde=Cape Verde; CI CIV Côte d'Ivoire=Ivory Coast;
    GM GMB Gambia; GH GHA Ghana; GN GIN Guinea; GW GNB Guinea-Bissau; LR LBR Liberia; ML MLI Mali; MR MRT Mauritania;
    NE NER Niger; NG NGA Nigeria; SH SHN Saint Helena; SN SEN Senegal; SL SLE Sierra Leone; TG TGO Togo
Northern America: BM BMU Bermuda; CA CAN Canada; GL GRL Greenland; PM SPM Saint Pierre and Miquelon;
    US USA United States=United States of America=U.S.A.=U.S.
Central America: BZ BLZ Belize; CR CRI Costa Rica; SV SLV El Salvador; GT GTM Guatemala; HN HND Honduras;
    MX MEX Mexico; NI NIC Nicaragua; PA PAN Panama
Caribbean: AI AIA Anguilla; AG ATG Antigua and Barbuda; AW ABW Aruba; BS BHS Bahamas; BB BRB Barbados;
    VG VGB British Virgin Islands; KY CYM Cayman Islands; CU CUB Cuba; CW CUW Curaçao=Curacao; DM DMA Dominica;
    DO DOM Dominican Republic; GD GRD Grenada; GP GLP Guadeloupe; HT HTI Haiti; JM JAM Jamaica; MQ MTQ Martinique;
    MS MSR Montserrat; PR PRI Puerto Rico; KN KNA Saint Kitts and Nevis; LC LCA Saint Lucia;
    VC VCT Saint Vincent and the Grenadines; TT TTO Trinidad and Tobago=Trinidad&Tobago=Trinadad&Tobago;
    TC TCA Turks and Caicos Islands; VI VIR US Virgin Islands
South America: AR ARG Argentina; BO BOL Bolivia; BR BRA Brazil; CL CHL Chile; CO COL Colombia=Columbia;
    EC ECU Ecuador; FK FLK Falkland Islands; GF GUF French Guiana; GY GUY Guyana; PY PRY Paraguay; PE PER Peru;
    SR SUR Suriname; UY URY Uruguay; VE VEN Venezuela
Central Asia: KZ KAZ Kazakhstan; KG KGZ Kyrgyzstan; TJ TJK Tajikistan; TM TKM Turkmenistan; UZ UZB Uzbekistan
Eastern Asia: CN CHN China; HK HKG Hong Kong=Hong; JP JPN Japan; MO MAC Macao=Macau; MN MNG Mongolia;
    KP PRK North Korea; KR KOR South Korea=Korea=Republic of Korea; TW TWN Taiwan
South-eastern Asia: BN BRN Brunei; KH KHM Cambodia; ID IDN Indonesia; LA LAO Laos; MY MYS Malaysia;
    MM MMR Myanmar=Burma; PH PHL Philippines; SG SGP Singapore; TH THA Thailand; TL TLS Timor-Leste=East Timor;
    VN VNM Vietnam=Viet Nam
Southern Asia: AF AFG Afghanistan; BD BGD Bangladesh; BT BTN Bhutan; IN IND India; IR IRN Iran; MV MDV Maldives;
    NP NPL Nepal; PK PAK Pakistan; LK LKA Sri Lanka
Western Asia: AM ARM Armenia; AZ AZE Azerbaijan; BH BHR Bahrain; CY CYP Cyprus; GE GEO Georgia; IQ IRQ Iraq;
    IL ISR Israel; JO JOR Jordan; KW KWT Kuwait; LB LBN Lebanon; OM OMN Oman; PS PSE Palestine; QA QAT Qatar;
    SA SAU Saudi Arabia; SY SYR Syria; TR TUR Turkey=Türkiye=Turkiye; AE ARE United Arab Emirates; YE YEM Yemen
Eastern Europe: BY BLR Belarus; BG BGR Bulgaria; CZ CZE Czechia=Czech Republic; HU HUN Hungary; MD MDA Moldova;
    PL POL Poland; RO ROU Romania; RU RUS Russia=Russian Federation; SK SVK Slovakia; UA UKR Ukraine
Northern Europe: AX ALA Åland=Aland; DK DNK Denmark; EE EST Estonia; FO FRO Faroe Islands; FI FIN Finland;
    GG GGY Guernsey; IS ISL Iceland; IE IRL Ireland; IM IMN Isle of Man; JE JEY Jersey; LV LVA Latvia;
    LT LTU Lithuania; NO NOR Norway; SJ SJM Svalbard and Jan Mayen; SE SWE Sweden;
    GB GBR United Kingdom=UK=Great Britain=England=Scotland=Wales=Northern Ireland
Southern Europe: AL ALB Albania; AD AND Andorra; BA BIH Bosnia and Herzegovina; HR HRV Croatia; GI GIB Gibraltar;
    GR GRC Greece; VA VAT Holy See=Vatican; IT ITA Italy; XK XKX Kosovo; MT MLT Malta; ME MNE Montenegro;
    MK MKD North Macedonia=Macedonia; PT PRT Portugal; SM SMR San Marino; RS SRB Serbia; SI SVN Slovenia; ES ESP Spain;
    YU YUG Yugoslavia
Western Europe: AT AUT Austria; BE BEL Belgium; FR FRA France; DE DEU Germany; LI LIE Liechtenstein;
    LU LUX Luxembourg; MC MCO Monaco; NL NLD Netherlands=Holland=Holand-Netherlands; CH CHE Switzerland
Australia and New Zealand: AU AUS Australia; NZ NZL New Zealand; NF NFK Norfolk Island
Pacific islands: AS ASM American Samoa; CK COK Cook Islands; FJ FJI Fiji; PF PYF French Polynesia; GU GUM Guam;
    KI KIR Kiribati; MH MHL Marshall Islands; FM FSM Micronesia; NR NRU Nauru; NC NCL New Caledonia; NU NIU Niue;
    MP MNP Northern Mariana Islands; PW PLW Palau; PG PNG Papua New Guinea; PN PCN Pitcairn; WS WSM Samoa;
    SB SLB Solomon Islands; TK TKL Tokelau; TO TON Tonga; TV TUV Tuvalu; VU VUT Vanuatu; WF WLF Wallis and Futuna
"""


def _read(table: str) -> dict[str, tuple[str, ...]]:
    """Return the regions with all that their countries are called."""
    regions = {}
    for line in table.strip().replace("\n    ", " ").splitlines():
        region, _, countries = line.partition(": ")
        called = (country.strip().split(" ", 2) for country in countries.split(";"))
        regions[region] = tuple(name for two, three, names in called for name in (two, three, *names.split("=")))
    return regions


REGIONS = _read(_TABLE)
"""Parts of continents, with the codes and names of the countries in them."""
