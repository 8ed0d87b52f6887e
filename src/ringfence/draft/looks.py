"""What texts look like: numbers, amounts, days, and what points at one person, as patterns that every engine knows."""

from ringfence.spec.written import BETWEEN_THOUSANDS

NUMBER = r"^ *[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9])? *$"
LONGEST_NUMBER = 50
LEAST_SIZE, GREATEST_SIZE = 1e-50, 1e50
"""Numbers nearer to zero, or further from it, are none that hierarchies can count with."""
SPACE, SIGN = "[ \u00a0\u202f]", "[-+−–±~≈<>≤≥=]"
CURRENCY = (
    r"(\p{Sc}|(US|A|C|NZ|HK|S|R)\$|(?i:kr|rs|fr|sfr|zł|kč|USD|EUR|GBP|CHF|JPY|CNY|SEK|NOK|DKK|ISK|PLN|CZK|HUF|RON|BGN"
    r"|TRY|RUB|UAH|INR|PKR|BRL|MXN|ARS|CLP|COP|ZAR|NGN|KES|EGP|AUD|CAD|NZD|SGD|HKD|KRW|TWD|THB|IDR|MYR|PHP|VND|ILS|AED"
    r"|SAR)\.?)"
)
UNIT = (
    rf"({CURRENCY}|[%‰]|[°º][CFK]?|[gkmlhstKM]|(?i:[kcdm]?[gml]|[mkg]?w|kwh|hz|bpm|mio|tsd)\.?"
    r"|[a-zµμ/%][a-zA-Z0-9µμ°²³/%.^·*-]{1,11}|(per|pro|je|par|al) [a-zA-Z]{3,9}"
    r"|[CD]R|[A-Z]{1,3}/[a-zA-Z]{1,4}|mmHg|Euros?|Dollars?|Mio\.?|Mrd\.?|Tsd\.?)"
)
BETWEEN = f"[{''.join(BETWEEN_THOUSANDS)}]"
DIGITS = (
    rf"([0-9]+(({BETWEEN}[0-9]{{2,3}})*{BETWEEN}[0-9]{{3}})?([.,]([0-9]+|[-–—]{{1,2}})?)?|[.,][0-9]+)"
    r"([eE][+-]?[0-9]{1,3}|/[0-9]{2,3})?"
)
AMOUNT = (
    rf"^{SPACE}*((?i:ca|circa|approx|about|around|etwa|rund|env)\.?{SPACE})?{SIGN}?\(?{SIGN}?{SPACE}*"
    rf"({CURRENCY}{SPACE}?)?{SIGN}?{SPACE}*{DIGITS}"
    rf"({SPACE}?{UNIT}){{0,2}}\)?-?{SPACE}*$"
)
"""A number with what people write around it: its thousands and decimals marked in any way, a currency or a unit."""
DAY = (
    r"^([1-9][0-9]{3}|0[1-9][0-9]{2}|00[1-9][0-9]|000[1-9])-[0-1][0-9]-[0-3][0-9]"
    r"([T ]([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9](\.[0-9]{1,6})?)?(Z|[+-]([01][0-9]|2[0-3])(:?[0-5][0-9])?)?)?$"
)
UNPADDED = ("%H:%M", "%H:%M:%S")
"""How times of day are written that have hours of one digit among them."""
TIME_OF_DAY = r"^([01]?[0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9])?$"
LOOKS = {
    "e-mail addresses": r"^[^@ ]+@[^@ ]+\.[^@ .]+$",
    "web addresses": r"^(https?://|www\.)",
    "bank accounts (IBAN)": r"^[A-Z]{2}[0-9]{2}( ?[A-Z0-9]{4}){2,7}( ?[A-Z0-9]{1,3})?$",
    "card numbers": r"^[0-9]{4}[ -][0-9]{4}[ -][0-9]{4}[ -][0-9]{1,4}$",
    "social security numbers": r"^[0-9]{3}-[0-9]{2}-[0-9]{4}$",
    "UUIDs": r"^\{?[0-9a-fA-F]{8}-([0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\}?$",
    "IP addresses": r"^[0-9]{1,3}(\.[0-9]{1,3}){3}$",
    "dates": r"^[0-9]{1,2}[./-][0-9]{1,2}[./-]([0-9]{4}|[0-9]{2})$"
    r"|^[0-9]{1,2}\.?[ /-]?(?i:jan|feb|mar|mär|apr|may|mai|jun|jul|aug|sep|oct|okt|nov|dec|dez)[a-z]*\.?[ /-]?"
    r"([0-9]{4}|[0-9]{2})$",
    "phone numbers": r"^\+[0-9][0-9 ()/.-]{6,}$|^\(?0[0-9]{1,5}[ )/-]+[0-9][0-9 /-]{3,}$"
    r"|^\(?[0-9]{3}[ )/.-]+[0-9]{3}[ /.-][0-9]{3,}$",
    "amounts": rf"{AMOUNT}|{NUMBER}",
    "free text": r"[^ ]+ [^ ]+ [^ ]+ [^ ]+ [^ ]+",
}
"""What texts look like, the surest first; `dates` and `amounts` may be such that a specification cannot read."""

HARMLESS_LOOKS = ("dates", "amounts", "free text")
"""Those that do not make a column an identifier by themselves."""
