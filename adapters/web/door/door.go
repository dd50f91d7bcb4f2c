// Package door is the way in to the pages that nod serves, the workspace and the
// operator's: who is let in, what a browser may do with what it is given, and how they
// look alike. It knows nothing of what they show.
package door

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	_ "embed" // the icon and the common style
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Icon is the pages' icon, an SVG.
//
//go:embed icon.svg
var Icon []byte

// Style is what the pages' styles have in common.
//
//go:embed style.css
var Style []byte

// Loopback says what is wrong with an address for a page, if anything is.
func Loopback(address string) error {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("the page needs an address such as 127.0.0.1:8484: %w", err)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return fmt.Errorf("the page is served on loopback addresses only, such as 127.0.0.1:%s, not on %q", port, host)
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return errors.New("the page needs the number of a port, such as 127.0.0.1:8484")
	}
	return nil
}

// Listen listens at a loopback address.
func Listen(address string) (net.Listener, error) {
	if err := Loopback(address); err != nil {
		return nil, err
	}
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen for the page: %w", err)
	}
	return l, nil
}

// Asset serves a file that is part of the program.
func Asset(data []byte, kind string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		_, _ = w.Write(data) // the browser is gone
	}
}

// Serve serves a page until ctx is done.
func Serve(ctx context.Context, l net.Listener, h http.Handler) error {
	srv := &http.Server{
		Handler: h, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: time.Minute, MaxHeaderBytes: 32 << 10,
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	stop := context.AfterFunc(ctx, func() { _ = srv.Close() })
	defer stop()
	if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve the page: %w", err)
	}
	return nil
}

// Door decides who is let in. A page can do, or show, whatever a person of the team
// can, and any site that a browser visits can send requests to loopback addresses. So:
//
//   - A request has to name the page's own host: a foreign name that leads here
//     (DNS rebinding) is refused.
//   - What changes something has to come from the page itself, by the Origin that
//     browsers tell of every form and that no site can forge; and what other
//     sites ask for in any way is refused where the browser says so.
//   - A browser is let in by a link that is printed for whoever started the
//     program and works once. It leaves a cookie that no script can read and that
//     is sent along by this host's pages only.
type Door struct {
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

// New makes the door of a page at this address, as host:port. print writes a line
// for the person who started the program, and nowhere else.
func New(address string, print func(string)) *Door {
	_, port, _ := net.SplitHostPort(address)
	return &Door{address: address, print: print, cookie: "nod-" + port, key: rand.Text()}
}

// Announce prints the link that opens the page next.
func (d *Door) Announce() {
	d.mu.Lock()
	link := "page: http://" + d.address + "/?key=" + d.key
	d.mu.Unlock()
	d.print(link)
}

// hosts are the names by which the page may be asked for.
func (d *Door) hosts() []string {
	_, port, _ := net.SplitHostPort(d.address)
	return []string{d.address, "localhost:" + port}
}

// Guard lets in what may come in, and says of everything what a browser may do
// with it.
func (d *Door) Guard(next http.Handler) http.Handler {
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
func (d *Door) own(r *http.Request) bool {
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
func (d *Door) open(w http.ResponseWriter, r *http.Request) {
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
	d.Announce()
}

// turn uses the key.
func (d *Door) turn(key string) (token string, ok bool) {
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
func (d *Door) knows(r *http.Request) bool {
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
	// Other sites are told nothing of where they were called from. With no-referrer browsers
	// would say of the page's own forms that they come from nowhere ("Origin: null"), unless a
	// script sends them (https://fetch.spec.whatwg.org/#append-a-request-origin-header).
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
}

func refuse(w http.ResponseWriter, why string) { http.Error(w, why, http.StatusForbidden) }

// Clean makes a text from outside harmless to look at: no control characters but
// line ends and tabs, and nothing that turns the direction of writing, by which a
// text can be made to look like another.
func Clean(s string) string {
	s = strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\r\n", "\n")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\t':
			return r
		case r < ' ', r >= 0x7F && r < 0xA0, r >= 0x202A && r <= 0x202E, r >= 0x2066 && r <= 0x2069, r == 0x200E, r == 0x200F, r == 0x061C:
			return -1
		}
		return r
	}, s)
}
