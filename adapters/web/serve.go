package web

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"io"
	"net/http"
	"slices"
	"strconv"

	"nod/adapters/web/door"
	"nod/chat"
	"nod/chat/form"
	"nod/chat/summary"
	"nod/front"
)

//go:embed page
var pageFiles embed.FS

// templates draw the page and each message on it.
var templates = template.Must(template.New("").Funcs(template.FuncMap{
	"fresh":      newID,
	"plural":     summary.Count,
	"linked":     linked,
	"mostReason": func() int { return front.MostReason },
	"exact":      exact,
	"rich":       rich,
	"looks":      func(k form.Kind) string { return looks[k] },
}).ParseFS(pageFiles, "page/*.html"))

// Handler serves the page.
func (a *Adapter) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", a.page)
	mux.HandleFunc("GET /events", a.events)
	mux.HandleFunc("GET /changes", a.changes)
	mux.HandleFunc("GET /file", a.file)
	for _, name := range []string{"/page.css", "/page.js", "/waits.svg"} {
		mux.HandleFunc("GET "+name, door.Asset(pageFiles, "page"+name))
	}
	mux.HandleFunc("POST /say", a.form(a.say))
	mux.HandleFunc("POST /edit", a.form(about(a.own, a.edit)))
	mux.HandleFunc("POST /delete", a.form(about(a.own, a.remove)))
	mux.HandleFunc("POST /react", a.form(about(a.on, a.react)))
	mux.HandleFunc("POST /press", a.form(about(a.on, a.press)))
	mux.HandleFunc("POST /again", a.form(about(a.on, a.editAgain)))
	for path, s := range sheets {
		mux.HandleFunc("POST "+path, a.form(a.sent(s)))
	}
	return a.door.Guard(mux)
}

// The panes of the page.
const (
	paneChannel = "channel"
	paneThread  = "thread"
)

// screen is what the page's template draws.
type screen struct {
	View            view
	Title, About    string
	Side            sidebar
	Channel, Thread paneView
	HasThread       bool
	Writes          bool
	Sign            *sign
	Changes         string // the address of what is newer than this page
	Close           string // where the thread is not shown
	Hints           []string
	People          []chat.User
	Quick           []string
}

// paneView is a pane as the template draws it.
type paneView struct {
	Cards   []card
	Earlier string // the address of the page with more of it; "" where this is all
}

func paneOf(l look, v view, name string, in func(*item) bool) (p paneView) {
	items, earlier := v.pane(l.items, in)
	for _, it := range items {
		p.Cards = append(p.Cards, cardOf(it, v, name))
	}
	if earlier {
		p.Earlier = v.url("/") + "&n=" + strconv.Itoa(len(items)+screenful)
	}
	return p
}

// page draws the page as it is now.
func (a *Adapter) page(w http.ResponseWriter, r *http.Request) {
	v := a.view(r.URL.Query())
	l := a.look(0, v)
	s := screen{
		View: v, Title: v.title(), About: v.about(), Side: a.sidebar(v, l), HasThread: v.Root != "", Quick: quick,
		Writes: v.Channel != terminalName && v.Channel != waitingName, Sign: l.sign, Close: v.at(v.Channel, "").url("/"), People: People,
		Changes: v.url("/changes") + "&since=" + a.board.mark(l.now),
		Channel: paneOf(l, v, paneChannel, v.inChannel), Thread: paneOf(l, v, paneThread, v.inThread),
	}
	if len(s.Channel.Cards) == 0 && s.Writes {
		s.Hints = a.hints(v)
	}
	html := a.html("page.html", s)
	if html == "" {
		http.Error(w, "The page can't be drawn.", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = io.WriteString(w, html) // the browser is gone
}

// hints are what one may try here.
func (a *Adapter) hints(v view) []string {
	out := slices.Clone(a.o.Hints)
	if !v.flat() {
		out = append(out, a.o.Together...)
	}
	if c, ok := channelNamed(v.Channel); ok && !c.open {
		for i := range out {
			out[i] = "@" + nod + " " + out[i]
		}
	}
	return out
}

// html draws the page or a part of it; "" where that fails.
func (a *Adapter) html(name string, data any) string {
	var b bytes.Buffer
	if err := templates.ExecuteTemplate(&b, name, data); err != nil {
		a.log.Error("draw a part of the page", "part", name, "error", err)
		return ""
	}
	return b.String()
}

// sidebar lists the places.
type sidebar struct {
	Waiting          link
	Waits            int
	Channels, Direct []link
}

type link struct {
	Name, URL string
	Sign      string // before the name
	Here      bool
	Waits     int
	Newest    uint64
}

func (a *Adapter) sidebar(v view, l look) sidebar {
	var s sidebar
	to := func(name, sign, label, channel string) link {
		out := link{Name: label, Sign: sign, URL: v.at(name, "").url("/"), Here: v.Channel == name, Newest: l.newest[channel]}
		for t, n := range l.waits {
			if t.Channel == channel {
				out.Waits += n
			}
		}
		return out
	}
	s.Waits = l.waits[chat.ThreadID{}]
	s.Waiting = to(waitingName, "", fmt.Sprintf("Waiting for you (%d)", s.Waits), "")
	for _, c := range channels {
		s.Channels = append(s.Channels, to(c.Name, "#", c.Name, c.Name))
	}
	s.Direct = append(s.Direct, to(directName, "@", nod, directOf(v.Me.ID).Channel))
	if a.o.Terminal != (chat.ThreadID{}) {
		s.Direct = append(s.Direct, to(terminalName, ">", "terminal", a.o.Terminal.Channel))
	}
	return s
}

// file serves the content of a file. A browser shows pictures only, and runs
// nothing of it.
func (a *Adapter) file(w http.ResponseWriter, r *http.Request) {
	f, thread, ok := a.fileOf(r)
	if !ok {
		http.NotFound(w, r)
		return
	}
	data, err := a.o.Inbox.Blob(r.Context(), thread, f.Blob)
	switch {
	case errors.Is(err, chat.ErrNoFile):
		http.Error(w, "This file is not kept any more.", http.StatusGone)
		return
	case err != nil:
		a.log.Error("read a file", "thread", thread.String(), "error", err)
		http.Error(w, "The store does not answer. Please try again.", http.StatusServiceUnavailable)
		return
	}
	h := w.Header()
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'; frame-ancestors 'none'")
	if slices.Contains(pictures, f.MediaType) {
		h.Set("Content-Type", f.MediaType)
		h.Set("Content-Disposition", "inline")
	} else {
		h.Set("Content-Type", "application/octet-stream")
		h.Set("Content-Disposition", disposition(f.Name))
	}
	_, _ = w.Write(data) // the browser is gone
}

// fileOf finds the file that a request names.
func (a *Adapter) fileOf(r *http.Request) (chat.File, chat.ThreadID, bool) {
	var ref chat.MessageRef
	if err := ref.UnmarshalText([]byte(r.URL.Query().Get("ref"))); err != nil {
		return chat.File{}, chat.ThreadID{}, false
	}
	it, ok := a.board.find(ref)
	n, err := strconv.Atoi(r.URL.Query().Get("n"))
	switch {
	case !ok || err != nil || n < 0:
	case it.post != nil && it.post.File != nil && it.post.File.Blob != "":
		return *it.post.File, it.thread, true
	case it.message != nil && n < len(it.message.Files) && it.message.Files[n].Blob != "":
		return it.message.Files[n], it.thread, true
	}
	return chat.File{}, chat.ThreadID{}, false
}
