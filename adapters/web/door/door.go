// Package door is the way in to the pages that nod serves, the workspace and the
// operator's: who is let in, what a browser may do with what it is given, and how they
// look alike. It knows nothing of what they show.
package door

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"log/slog"
	"net"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
)

// common is what the pages share: the icon, the style, and how a page is drawn anew.
//
//go:embed icon.svg style.css morph.js
var common embed.FS

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

// kinds are the media types of files. Those of the system may say something else.
var kinds = map[string]string{".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}

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
func Asset(files embed.FS, name string) http.HandlerFunc {
	data, err := files.ReadFile(name)
	if err != nil {
		panic(err) // it is part of the program
	}
	kind := kinds[path.Ext(name)]
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
//   - A browser is let in by a link that is printed for the person who started the
//     program and works once. It leaves a cookie that no script can read, and that
//     is sent along by this host's pages only. [Access] keeps who was let in.
type Door struct {
	o      Options
	cookie string
	hosts  []string // names by which the page may be asked for
	log    *slog.Logger
}

// Options set up a [Door].
type Options struct {
	Address string            // of the page, as host:port
	Print   func(line string) // writes a line for the person who started the program, and nowhere else
	Access  *Access           // who was let in; where its links live until they are used, the next one is printed then
	Renew   string            // how to get a new link, as a sentence
	Logger  *slog.Logger
}

// New makes the door of a page.
func New(o Options) *Door {
	_, port, _ := net.SplitHostPort(o.Address)
	return &Door{o: o, cookie: "nod-" + port, hosts: []string{o.Address, "localhost:" + port}, log: o.Logger}
}

// Announce prints a link that opens the page. A store that does not answer is logged:
// the page goes on for the browsers that were let in.
func (d *Door) Announce(ctx context.Context) {
	key, err := d.o.Access.Link(ctx)
	if err != nil {
		d.log.Error("make a link to the page", "error", err)
		return
	}
	d.o.Print(LinkLine(d.o.Address, key))
}

// LinkLine is the line that gives a person a link to a page.
func LinkLine(address, key string) string { return "page: http://" + address + "/?key=" + key }

// Guard lets in what may come in, and says of everything what a browser may do
// with it. The icon and the common style are for everybody whom the page's own host
// brought here, since the refusal is a page too.
func (d *Door) Guard(next http.Handler) http.Handler {
	assets := map[string]http.HandlerFunc{}
	for _, name := range []string{"icon.svg", "style.css", "morph.js"} {
		assets["/"+name] = Asset(common, name)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		headers(w.Header())
		reads := r.Method == http.MethodGet || r.Method == http.MethodHead
		switch {
		case !slices.Contains(d.hosts, r.Host):
			d.refuse(w, "This page has another address.")
		case !d.own(r):
			d.refuse(w, "This came from another page.")
		case reads && assets[r.URL.Path] != nil:
			assets[r.URL.Path](w, r)
		case reads && r.URL.Path == "/" && r.URL.Query().Has("key"):
			d.open(w, r)
		case d.knows(w, r):
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
	token, err := d.o.Access.open(r.Context(), r.URL.Query().Get("key"))
	switch {
	case err != nil:
		d.away(w, err)
		return
	case token == "":
		if d.knows(w, r) {
			http.Redirect(w, r, "/", http.StatusSeeOther)
		}
		return
	}
	d.hand(w, token, sessionLife)
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write([]byte(`<!doctype html><html lang="en"><title>nod</title><link rel="icon" href="/icon.svg"><meta http-equiv="refresh" content="0;url=/"><p><a href="/">Open nod</a></p></html>`))
	if d.o.Access.Life == 0 {
		d.Announce(r.Context())
	}
}

// hand gives a browser its cookie.
func (d *Door) hand(w http.ResponseWriter, token string, life time.Duration) {
	http.SetCookie(w, &http.Cookie{
		Name: d.cookie, Value: token, Path: "/", MaxAge: int(life.Seconds()), HttpOnly: true, SameSite: http.SameSiteStrictMode,
	})
}

// knows says whether a request comes from a browser that was let in; if not, it has
// answered it. A store that does not answer lets nobody in.
func (d *Door) knows(w http.ResponseWriter, r *http.Request) bool {
	for _, c := range r.CookiesNamed(d.cookie) {
		found, err := d.o.Access.check(r.Context(), c.Value)
		if err != nil {
			d.away(w, err)
			return false
		}
		if found.ended {
			d.log.Warn("a cookie of the page was used after it was replaced; its session is ended", "page", d.o.Access.Page)
		}
		if found.fresh != "" {
			d.hand(w, found.fresh, found.left)
		}
		if found.known {
			return true
		}
	}
	why := "This browser has no access to the page, or has it no more."
	if r.URL.Query().Has("key") {
		why = "This link was used already, or is too old."
	}
	d.refuse(w, why)
	return false
}

func (d *Door) away(w http.ResponseWriter, err error) {
	d.log.Error("look who may open the page", "error", err)
	http.Error(w, "The store does not answer. Please try again.", http.StatusServiceUnavailable)
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

var refusal = template.Must(template.New("").Parse(`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">
<title>No access · nod</title><link rel="icon" href="/icon.svg"><link rel="stylesheet" href="/style.css"></head>
<body class="refused"><main><h1>A new link is needed</h1><p>{{.Why}}</p><p>{{.Renew}}</p></main></body></html>
`))

// refuse says that the page needs a new link, and why.
func (d *Door) refuse(w http.ResponseWriter, why string) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(http.StatusForbidden)
	_ = refusal.Execute(w, struct{ Why, Renew string }{why, d.o.Renew}) // the browser is gone
}

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
