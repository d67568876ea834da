"""Counts the packets that leave for addresses that are not of the open web, in a network namespace of its own.

Run as root: unshare -n -m python3 namespace.py IBID VECTORS.jsonl [URLS.jsonl]
"""
import ipaddress, json, os, socket, struct, subprocess, sys, tempfile, threading, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

IBID, FILES = sys.argv[1], sys.argv[2:]
sh = lambda c: subprocess.run(c, shell=True, check=False, capture_output=True)
for c in ("ip link set lo up", "ip route add local 0.0.0.0/0 dev lo", "ip -6 route add local ::/0 dev lo"):
    sh(c)
conf = tempfile.NamedTemporaryFile("w", delete=False); conf.write("nameserver 127.0.0.1\noptions timeout:1 attempts:1\n"); conf.close()
sh("mount --bind %s /etc/resolv.conf" % conf.name)
nss = tempfile.NamedTemporaryFile("w", delete=False); nss.write("hosts: files dns\n"); nss.close()
sh("mount --bind %s /etc/nsswitch.conf" % nss.name)

NAMES, ASKED = {}, {}
def answers(name, kind):
    rows = NAMES.get(name.lower().rstrip("."))
    if not rows: return []
    nth = ASKED.get((name, kind), 0); ASKED[(name, kind)] = nth + 1
    row = rows[min(nth, len(rows) - 1)]
    out = []
    for a in row:
        try: ip = ipaddress.ip_address(a)
        except ValueError: continue
        if (kind == 1) == (ip.version == 4): out.append(ip.packed)
    return out
def dns():
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.bind(("127.0.0.1", 53))
    while True:
        q, who = s.recvfrom(4096); at, labels = 12, []
        while q[at]: labels.append(q[at + 1:at + 1 + q[at]].decode("latin1")); at += q[at] + 1
        kind = struct.unpack(">H", q[at + 1:at + 3])[0]; end = at + 5
        found = answers(".".join(labels), kind) if kind in (1, 28) else []
        known = ".".join(labels).lower() in NAMES
        head = q[:2] + struct.pack(">HHHHH", 0x8180 | (0 if known else 3), 1, len(found), 0, 0)
        body = b"".join(b"\xc0\x0c" + struct.pack(">HHIH", kind, 1, 0, len(a)) + a for a in found)
        s.sendto(head + q[12:end] + body, who)
SEEN, RESULTS = [], []
def sniff():
    s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.ntohs(3))
    while True:
        p, meta = s.recvfrom(65535)
        if meta[2] not in (4, 0): continue    # outgoing, or to us
        proto = struct.unpack(">H", p[12:14])[0]
        if proto == 0x0800:
            ihl = (p[14] & 15) * 4; dst = ipaddress.ip_address(p[30:34]); t = p[23]; off = 14 + ihl
        elif proto == 0x86dd:
            dst = ipaddress.ip_address(p[38:54]); t = p[20]; off = 54
            if t == 58 or t == 0: continue      # neighbour discovery is the kernel's own
        else: continue
        if t not in (6, 17): continue
        if t == 6 and (p[off + 13] & 0x12) != 0x02: continue   # answers of the kernel to a connection that was begun
        sport, port = struct.unpack(">HH", p[off:off + 4])
        SEEN.append((str(dst), port, sport, t))
class Searx(BaseHTTPRequestHandler):
    def do_GET(self):
        body = json.dumps({"results": RESULTS}).encode()
        self.send_response(200); self.send_header("content-type", "application/json"); self.send_header("content-length", str(len(body))); self.end_headers(); self.wfile.write(body)
    def log_message(self, *a): pass
server = ThreadingHTTPServer(("127.0.0.1", 8905), Searx)
for f in (dns, sniff, server.serve_forever): threading.Thread(target=f, daemon=True).start()
time.sleep(0.3)

def is_open(dst):
    ip = ipaddress.ip_address(dst)
    if ip.version == 6: return ip in ipaddress.ip_network("2000::/3") and ip.is_global and not ip.sixtofour and not ip.teredo
    return ip.is_global and not ip.is_multicast and dst != "168.63.129.16"
def forbidden():
    own = lambda it: it[0] == "127.0.0.1" and (it[1] in (53, 8905) or it[2] in (53, 8905))
    # An answer to a port of ours is no packet that was sent there.
    return [it for it in SEEN if not is_open(it[0]) and not own(it)]
rows = []
for f in FILES:
    for l in open(f): rows.append(json.loads(l))
home = tempfile.mkdtemp()
ENV = {"PATH": os.environ["PATH"], "HOME": home, "http_proxy": "", "RUST_BACKTRACE": "0"}
def run(args, env=None, t=60):
    try: return subprocess.run([IBID, *args], env={**ENV, **(env or {})}, capture_output=True, text=True, errors="replace", timeout=t)
    except (subprocess.TimeoutExpired, ValueError) as e: return None
def check(name):
    time.sleep(0.2); bad = forbidden(); out = sum(is_open(it[0]) for it in SEEN)
    print(json.dumps({"entry": name, "rows": len(rows), "forbidden": len(bad), "packets_to_the_open_web": out, "first": bad[:5]})); SEEN.clear()
# 1: each address by itself, with its own names
t0 = time.time(); bad_rows = []
for r in rows:
    url = r.get("url") or ""
    NAMES.clear(); ASKED.clear()
    for h, a in (r.get("dns") or {}).items(): NAMES[h.lower().rstrip(".")] = a
    before = len(forbidden())
    p = subprocess.Popen([IBID, "read", "--json", "--", url] if "\0" not in url else [IBID, "--version"], env=ENV, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try: p.wait(1.0)
    except subprocess.TimeoutExpired: p.kill(); p.wait()
    time.sleep(0.005)
    if len(forbidden()) > before: bad_rows.append(r.get("id") or url)
check("ibid read"); print(json.dumps({"rows_with_forbidden_packets": bad_rows[:20], "seconds": round(time.time() - t0)}))
# 2: all of them cited in a text
NAMES.clear(); ASKED.clear()
for r in rows:
    for h, a in (r.get("dns") or {}).items(): NAMES[h.lower().rstrip(".")] = a
text = "".join("Cork floats on water [%d].\n\n" % (n + 1) for n in range(len(rows))) + "\n## Sources\n\n" + "".join("[%d] %s\n\n" % (n + 1, (r.get("url") or "").replace("\n", "")) for n, r in enumerate(rows))
os.makedirs(home, exist_ok=True); open(home + "/t.md", "w", errors="replace").write(text)
run(["check", home + "/t.md", "--web"], t=120); check("ibid check --web")
# 3: all of them as results of a search
ASKED.clear()
RESULTS[:] = [{"url": r.get("url"), "title": "Cork %d" % n, "content": "cork oak bark harvest"} for n, r in enumerate(rows) if (r.get("url") or "").startswith("http")][:600]
import random
random.Random(1).shuffle(RESULTS)
for k in range(0, len(RESULTS), 60):
    part, RESULTS_ = RESULTS[k:k + 60], RESULTS
    whole = list(RESULTS); RESULTS[:] = part
    run(["run", "How is cork harvested?", "--engine", "searxng", "-q", "--budget", "60s"], {"SEARXNG_URL": "http://127.0.0.1:8905", "IBID_RESULTS_PER_QUERY": "60"}, t=90)
    RESULTS[:] = whole
check("a run over search results")
