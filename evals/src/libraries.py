"""Ranks documents with a BM25 library, through its own interface. Reads {"peer", "documents", "queries", "top", "timed"}
as JSON,
writes {"name", "index_s", "query_s", "ranked"}: seconds in all (of queries for the first "timed" documents), and for each query the places of its best documents.
Words are lower case, stemmed (Snowball), without English stop words, for every library alike."""
import json, sys, time

asked = json.load(sys.stdin)
import Stemmer
import bm25s

stemmer = Stemmer.Stemmer("english")


def words(texts):
    return bm25s.tokenize(
        texts, stopwords="en", stemmer=stemmer, return_ids=False, show_progress=False
    )


began = time.perf_counter()
if asked["peer"] == "bm25s":
    retriever = bm25s.BM25(k1=1.2, b=0.75)
    retriever.index(
        bm25s.tokenize(
            asked["documents"], stopwords="en", stemmer=stemmer, show_progress=False
        ),
        show_progress=False,
    )
    name = "bm25s " + bm25s.__version__
else:
    from rank_bm25 import BM25Okapi

    retriever = BM25Okapi(words(asked["documents"]), k1=1.2, b=0.75)
    name = "rank_bm25"
index_s = time.perf_counter() - began


def find(query, top):
    top = min(top, len(asked["documents"]))
    if asked["peer"] == "bm25s":
        tokens = bm25s.tokenize(
            [query], stopwords="en", stemmer=stemmer, show_progress=False
        )
        found, scores = retriever.retrieve(tokens, k=top, show_progress=False)
        return [int(d) for d, s in zip(found[0], scores[0]) if s > 0]
    scores = retriever.get_scores(words([query])[0])
    best = scores.argsort()[::-1][:top]
    return [int(d) for d in best if scores[d] > 0]


began = time.perf_counter()
for query in asked["queries"]:
    find(query, asked["timed"])
query_s = time.perf_counter() - began
ranked = [find(query, asked["top"]) for query in asked["queries"]]
json.dump({"name": name, "index_s": index_s, "query_s": query_s, "ranked": ranked}, sys.stdout)
