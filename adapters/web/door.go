package web

import (
	"crypto/rand"
	"crypto/subtle"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// door decides who is let in. The page can do whatever a person of the team can,
// and any site that a browser visits can send requests to loopback addresses. So:
//
//   - A request has to name the page's own host: a foreign name that leads here
//     (DNS rebinding) is refused.
//   - What changes something has to come from the page itself, by the Origin that
//     browsers tell of every form and that no site can forge; and what other
//     sites ask for in any way is refused where the browser says so.
//   - A browser is let in by a link that is printed for whoever started the
//     program and works once. It leaves a cookie that no script can read and that
//     is sent along by this host's pages only.
type door struct {
	address string // host:port
	print   func(string)
	cookie  string

	mu    sync.Mutex
	key   string   // opens, once
	known []string // what the cookies hold
}

// mostKnown is how many browsers are let in at a time; then the first is
// forgotten.
const mostKnown = 100

func newDoor(address string, print func(string)) *door {
	_, port, _ := net.SplitHostPort(address)
	return &door{address: address, print: print, cookie: "nod-" + port, key: rand.Text()}
}

// announce prints the link that opens the page next.
func (d *door) announce() {
	d.mu.Lock()
	link := "page: http://" + d.address + "/?key=" + d.key
	d.mu.Unlock()
	d.print(link)
}

// hosts are the names by which the page may be asked for.
func (d *door) hosts() []string {
	_, port, _ := net.SplitHostPort(d.address)
	return []string{d.address, "localhost:" + port}
}

// guard lets in what may come in, and says of everything what a browser may do
// with it.
func (d *door) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		headers(w.Header())
		switch {
		case !slices.Contains(d.hosts(), r.Host):
			refuse(w, "This page has another address.")
		case !d.own(r):
			refuse(w, "This came from another page.")
		case r.Method == http.MethodGet && r.URL.Path == "/" && r.URL.Query().Has("key"):
			d.open(w, r)
		case !d.knows(r):
			refuse(w, "Open the page by the link that was printed where nod was started. It works once; a new one is printed then.")
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// own says whether a request comes from the page itself, or from a person who
// typed an address or followed a link.
func (d *door) own(r *http.Request) bool {
	site := r.Header.Get("Sec-Fetch-Site")
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return r.Header.Get("Origin") == "http://"+r.Host && (site == "" || site == "same-origin")
	}
	if origin := r.Header.Get("Origin"); origin != "" && origin != "http://"+r.Host {
		return false
	}
	visit := r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document"
	return site == "" || site == "same-origin" || site == "none" || visit
}

// open lets a browser in by the key, which is used up by that. The page follows
// by a link of this page's own: a browser that came from elsewhere would not send
// the cookie with a redirect.
func (d *door) open(w http.ResponseWriter, r *http.Request) {
	token, ok := d.turn(r.URL.Query().Get("key"))
	if !ok {
		if d.knows(r) {
			http.Redirect(w, r, "/", http.StatusSeeOther)
			return
		}
		refuse(w, "This link was used already. A new one was printed where nod was started.")
		return
	}
	http.SetCookie(w, &http.Cookie{Name: d.cookie, Value: token, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode})
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write([]byte(`<!doctype html><html lang="en"><title>nod</title><link rel="icon" href="/icon.svg"><meta http-equiv="refresh" content="0;url=/"><p><a href="/">Open nod</a></p></html>`))
	d.announce()
}

// turn uses the key.
func (d *door) turn(key string) (token string, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if subtle.ConstantTimeCompare([]byte(key), []byte(d.key)) != 1 {
		return "", false
	}
	d.key, token = rand.Text(), rand.Text()
	d.known = append(d.known, token)
	if len(d.known) > mostKnown {
		d.known = d.known[1:]
	}
	return token, true
}

// knows says whether a request comes from a browser that was let in.
func (d *door) knows(r *http.Request) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, c := range r.CookiesNamed(d.cookie) {
		for _, token := range d.known {
			if subtle.ConstantTimeCompare([]byte(c.Value), []byte(token)) == 1 {
				return true
			}
		}
	}
	return false
}

// policy is what a page may load and do: what comes from here, and nothing else.
var policy = strings.Join([]string{
	"default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self'", "connect-src 'self'",
	"form-action 'self'", "base-uri 'none'", "frame-ancestors 'none'",
}, "; ")

func headers(h http.Header) {
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
}

func refuse(w http.ResponseWriter, why string) { http.Error(w, why, http.StatusForbidden) }
