"""Claims made from a sentence, whose relation to it is known: what an honest check of numbers, negation, names and hedges must tell apart."""
import re

NUMBER = re.compile(r"(?<![\w.,])\d+(?:,\d{3})*(?:\.\d+)?(?![\w]|[.,]\d)")
YEAR = re.compile(r"\b(1[5-9]\d\d|20[0-4]\d)\b")
NUMBER_WORDS = "two three four five six seven eight nine ten eleven twelve twenty thirty forty fifty hundred".split()
MONTHS = "January February March April May June July August September October November December".split()
DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
AUXILIARY = re.compile(r"\b(is|are|was|were|can|could|will|would|should|must|may|might|has|have|had|does|do|did)\b(?! not\b|n't)")
NEGATED = re.compile(r"\b(is|are|was|were|can|could|will|would|should|must|has|have|had|does|do|did) not\b")
HEDGES = (
    ("may", "does"), ("might", "will"), ("could", "will"), ("can", "always will"), ("some", "all"), ("many", "all"), ("most", "all"),
    ("often", "always"), ("usually", "always"), ("sometimes", "always"), ("suggests", "proves"), ("suggest", "prove"),
    ("indicates", "proves"), ("likely", "certainly"), ("probably", "certainly"), ("possible", "certain"), ("possibly", "certainly"),
    ("associated with", "caused by"), ("linked to", "caused by"), ("correlated with", "caused by"), ("one of the", "the only"),
    ("expected to", "known to"), ("planned to", "able to"), ("several", "all"), ("few", "no"), ("nearly", "more than"), ("almost", "more than"),
)
ANTONYMS = (
    ("increase", "decrease"), ("increases", "decreases"), ("increased", "decreased"), ("increasing", "decreasing"), ("more", "less"),
    ("more", "fewer"), ("higher", "lower"), ("high", "low"), ("highest", "lowest"), ("larger", "smaller"), ("largest", "smallest"),
    ("large", "small"), ("before", "after"), ("first", "last"), ("always", "never"), ("all", "no"), ("north", "south"),
    ("northern", "southern"), ("east", "west"), ("eastern", "western"), ("open", "closed"), ("opens", "closes"), ("opened", "closed"),
    ("safe", "dangerous"), ("safe", "unsafe"), ("won", "lost"), ("win", "lose"), ("rise", "fall"), ("rises", "falls"), ("rose", "fell"),
    ("reduces", "increases"), ("reduced", "raised"), ("reduce", "increase"), ("best", "worst"), ("better", "worse"), ("good", "bad"),
    ("old", "new"), ("older", "younger"), ("oldest", "youngest"), ("early", "late"), ("earlier", "later"), ("above", "below"),
    ("over", "under"), ("hot", "cold"), ("warm", "cool"), ("wet", "dry"), ("long", "short"), ("longer", "shorter"), ("longest", "shortest"),
    ("strong", "weak"), ("stronger", "weaker"), ("fast", "slow"), ("faster", "slower"), ("male", "female"), ("men", "women"),
    ("man", "woman"), ("father", "mother"), ("son", "daughter"), ("husband", "wife"), ("brother", "sister"), ("boys", "girls"),
    ("allowed", "forbidden"), ("allows", "forbids"), ("accepted", "rejected"), ("accept", "reject"), ("approved", "rejected"),
    ("positive", "negative"), ("effective", "ineffective"), ("common", "rare"), ("present", "absent"), ("presence", "absence"),
    ("with", "without"), ("include", "exclude"), ("includes", "excludes"), ("including", "excluding"), ("maximum", "minimum"),
    ("at least", "at most"), ("more than", "less than"), ("same", "different"), ("similar", "different"), ("possible", "impossible"),
    ("success", "failure"), ("successful", "unsuccessful"), ("began", "ended"), ("begin", "end"), ("begins", "ends"), ("started", "stopped"),
    ("arrived", "left"), ("born", "died"), ("supported", "opposed"), ("supports", "opposes"), ("support", "oppose"), ("inside", "outside"),
    ("near", "far from"), ("only", "not only"), ("public", "private"), ("alive", "dead"), ("true", "false"), ("right", "wrong"),
    ("improve", "worsen"), ("improves", "worsens"), ("improved", "worsened"), ("protect", "harm"), ("protects", "harms"),
    ("benefits", "risks"), ("gain", "loss"), ("gained", "lost"), ("bought", "sold"), ("buy", "sell"), ("majority", "minority"),
    ("winter", "summer"), ("spring", "autumn"), ("day", "night"), ("morning", "evening"), ("acid", "alkaline"), ("liquid", "solid"),
    ("found", "failed to find"), ("prevents", "causes"), ("prevent", "cause"), ("causes", "prevents"), ("cause", "prevent"), ("left", "right"),
)
OPPOSITE = {}
for one, other in ANTONYMS:
    OPPOSITE.setdefault(one, []).append(other)
    OPPOSITE.setdefault(other, []).append(one)
NAME = re.compile(r"(?<![.!?] )(?<!^)\b[A-Z][a-z]+(?: [A-Z][a-z]+)*\b")


def swap_number(text, random):
    found = [it for it in NUMBER.finditer(text)]
    if not found:
        words = [it for it in re.finditer(r"\b(" + "|".join(NUMBER_WORDS) + r")\b", text)]
        if not words:
            return None
        at = random.choice(words)
        return text[: at.start()] + random.choice([it for it in NUMBER_WORDS if it != at.group()]) + text[at.end() :]
    at = random.choice(found)
    plain = at.group().replace(",", "")
    if YEAR.fullmatch(plain):
        new = str(int(plain) + random.choice([-30, -12, -7, -5, -3, -2, -1, 1, 2, 3, 5, 8, 11, 20]))
    elif "." in plain:
        places = len(plain.split(".")[1])
        new = f"{float(plain) * random.choice([0.1, 0.4, 0.6, 0.8, 1.3, 1.7, 2, 10]):.{places}f}"
    else:
        value = int(plain[:12])
        change = [value + 1, value + 2, value * 2, value * 3, value * 10, value + 10, value + 7]
        change += [it for it in (value - 1, value // 2, value // 3, value - 10, value // 10) if it > 0]
        new = f"{random.choice(change):,}" if "," in at.group() else str(random.choice(change))
    return None if new == at.group() else text[: at.start()] + new + text[at.end() :]


def swap_date(text, random):
    for kinds in (MONTHS, DAYS):
        found = [it for it in re.finditer(r"\b(" + "|".join(kinds) + r")\b", text)]
        if found:
            at = random.choice(found)
            return text[: at.start()] + random.choice([it for it in kinds if it != at.group()]) + text[at.end() :]
    return None


def negate(text, random):
    removed = NEGATED.search(text)
    if removed:
        return text[: removed.start()] + removed.group(1) + text[removed.end() :]
    found = list(AUXILIARY.finditer(text))
    if not found:
        return None
    at = found[0]
    way = random.random()
    if at.group() in ("is", "are", "was", "were", "can", "could", "does", "do", "did", "has", "have", "had") and way < 0.25:
        short = {"can": "can't"}.get(at.group(), at.group() + "n't")
        return text[: at.start()] + short + text[at.end() :]
    if way < 0.35:
        return text[: at.end()] + " never" + text[at.end() :]
    if way < 0.42:
        return "It is not true that " + text[0].lower() + text[1:]
    return text[: at.end()] + " not" + text[at.end() :]


def opposite(text, random):
    found = [(it, OPPOSITE[it.group().lower()]) for it in re.finditer(r"[A-Za-z]+(?: than)?(?: least| most)?", text) if it.group().lower() in OPPOSITE]
    if not found:
        found = [(it, OPPOSITE[it.group().lower()]) for it in re.finditer(r"[A-Za-z]+", text) if it.group().lower() in OPPOSITE]
    if not found:
        return None
    at, others = random.choice(found)
    new = random.choice(others)
    return text[: at.start()] + (new.capitalize() if at.group()[0].isupper() else new) + text[at.end() :]


def overstate(text, random):
    found = []
    for weak, strong in HEDGES:
        found += [(it, strong) for it in re.finditer(r"\b" + weak + r"\b", text)]
    if not found:
        return None
    at, strong = random.choice(found)
    return text[: at.start()] + strong + text[at.end() :]


def swap_name(text, others, random):
    found = list(NAME.finditer(text))
    if not found or not others:
        return None
    at = random.choice(found)
    new = random.choice(others)
    return None if new in text or at.group() in new else text[: at.start()] + new + text[at.end() :]


def swap_roles(text, random):
    found = list(NAME.finditer(text))
    if len(found) < 2:
        return None
    one, other = found[0], found[-1]
    if one.group() == other.group():
        return None
    return text[: one.start()] + other.group() + text[one.end() : other.start()] + one.group() + text[other.end() :]


def shortened(text, random):
    """What the sentence also says: without a part in brackets, an apposition or a last clause."""
    without = re.sub(r" \([^)]*\)", "", text)
    parts = re.split(r", (?:which|who|while|although|whereas|because|including|such as|where|with|and) ", without)
    way = parts[0].rstrip(" ,.;") + "." if len(parts) > 1 and len(parts[0].split()) >= 5 and random.random() < 0.7 else without
    return way if len(way.split()) >= 4 else None
