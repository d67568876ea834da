"""Runs the extractors that are installed here over pages, each through its own interface.

Input: one JSON object a line, {"path": FILE, "url": URL}; the first argument is `text` or `dates`.
Output: one JSON object a line and peer, {"peer": NAME, "at": LINE, "said": TEXT, "seconds": CPU}.
"""
import gzip
import importlib.metadata
import json
import sys
import time


def trafilatura():
    from trafilatura import extract
    return lambda page, url: extract(page, include_comments=True)


def readability_lxml():
    import lxml.html
    from readability import Document
    return lambda page, url: lxml.html.fromstring(Document(page.decode("utf-8", "replace")).summary()).text_content()


def justext():
    import justext as just
    stop = just.get_stoplist("English")
    return lambda page, url: "\n".join(it.text for it in just.justext(page, stop) if not it.is_boilerplate)


def resiliparse():
    from resiliparse.extract.html2text import extract_plain_text
    return lambda page, url: extract_plain_text(page.decode("utf-8", "replace"), main_content=True)


def htmldate():
    from htmldate import find_date
    return lambda page, url: find_date(page.decode("utf-8", "replace"), original_date=True, url=url)


PEERS = {
    "text": {"trafilatura": trafilatura, "readability-lxml": readability_lxml, "justext": justext, "resiliparse": resiliparse},
    "dates": {"htmldate": htmldate},
}

rows = [json.loads(line) for line in sys.stdin]
for name, make in PEERS[sys.argv[1]].items():
    try:
        read = make()
    except ImportError:
        continue
    label = f"{name} {importlib.metadata.version(name)}"
    for at, row in enumerate(rows):
        with (gzip.open if row["path"].endswith(".gz") else open)(row["path"], "rb") as file:
            page = file.read()
        begun = time.process_time()
        try:
            said = read(page, row["url"])
        except Exception:
            said = None
        seconds = time.process_time() - begun
        print(json.dumps({"peer": label, "at": at, "said": said or "", "seconds": seconds}), flush=True)
