package web

import (
	"bytes"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"nod/chat"
)

// still is how often a stream that has nothing to say says so, so that neither
// side takes the other for gone.
const still = 20 * time.Second

// mark writes how far a browser has seen: this process, and a number of its board.
func (b *board) mark(changed uint64) string { return b.epoch + "." + strconv.FormatUint(changed, 10) }

// read reads a mark; known is false for one of another process.
func (b *board) read(mark string) (changed uint64, known bool) {
	epoch, n, _ := strings.Cut(mark, ".")
	changed, err := strconv.ParseUint(n, 10, 64)
	return changed, err == nil && epoch == b.epoch
}

// events sends what changed since the browser looked last, and whatever changes,
// as server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html)
// until the browser leaves.
func (a *Adapter) events(w http.ResponseWriter, r *http.Request) {
	s := &stream{a: a, v: a.view(r.URL.Query()), w: w, flush: http.NewResponseController(w)}
	since := r.Header.Get("Last-Event-ID")
	if since == "" {
		since = r.URL.Query().Get("since")
	}
	changed, stop := a.board.watch()
	defer stop()
	w.Header().Set("Content-Type", "text/event-stream")
	var known bool
	if s.seen, known = a.board.read(since); !known {
		s.event("stale", "")
		_ = s.flush.Flush() // the browser is gone
		return
	}
	beat := time.NewTicker(still)
	defer beat.Stop()
	for s.update() {
		select {
		case <-changed:
		case <-beat.C:
			s.out.WriteString(": still here\n\n")
		case <-r.Context().Done():
			return
		}
	}
}

// stream is what one browser is sent.
type stream struct {
	a     *Adapter
	v     view
	w     http.ResponseWriter
	flush *http.ResponseController
	out   bytes.Buffer
	seen  uint64
	side  string // as it was sent last
	sign  string
}

// update sends what is new, and says whether the browser is there.
func (s *stream) update() bool {
	l := s.a.board.look(s.seen, s.v.sees, s.v.thread())
	for _, it := range l.items {
		if it.off {
			s.off(it)
			continue
		}
		if s.v.inChannel(&it) {
			s.card(cardOf(it, s.v, paneChannel), paneChannel)
		}
		if s.v.inThread(&it) {
			s.card(cardOf(it, s.v, paneThread), paneThread)
		}
	}
	if side, err := draw("side", s.a.sidebar(s.v, l)); err == nil && string(side) != s.side {
		s.side = string(side)
		s.event("side", s.side)
	}
	if sign := signOf(l.working); sign != s.sign {
		s.sign = sign
		s.event("working", sign)
	}
	s.seen = l.now
	fmt.Fprintf(&s.out, "id: %s\nevent: seen\ndata:\n\n", s.a.board.mark(s.seen))
	_, err := s.w.Write(s.out.Bytes())
	s.out.Reset()
	return err == nil && s.flush.Flush() == nil
}

// signOf writes what the bot does for the page: in words, and for a page that counts on by
// itself, since when it does that and when it tries again, in milliseconds since 1970.
func signOf(w chat.Work) string {
	sign := struct {
		Text  string `json:"text"`
		What  string `json:"what"`
		Since int64  `json:"since"`
		Next  int64  `json:"next,omitempty"`
		Busy  bool   `json:"busy"` // it can be stopped
	}{Text: w.String(), What: w.What, Busy: w.Busy()}
	if w.What != "" {
		sign.Since = w.Since.UnixMilli()
	}
	if !w.Next.IsZero() {
		sign.Next = w.Next.UnixMilli()
	}
	data, err := json.Marshal(sign)
	if err != nil {
		return ""
	}
	return string(data)
}

// off takes an item off the page. A browser that never had it looks for nothing.
func (s *stream) off(it item) {
	for _, pane := range []string{paneChannel, paneThread} {
		s.event("off", pane+"-"+it.ref.ID)
	}
}

func (s *stream) card(c card, pane string) {
	html, err := draw("card", c)
	if err != nil {
		s.a.log.Error("draw a message", "error", err)
		return
	}
	data, err := json.Marshal(map[string]string{"pane": pane, "id": c.ID, "html": string(html)})
	if err == nil {
		s.event("card", string(data))
	}
}

// event writes an event; each line of its data is a line of it.
func (s *stream) event(name, data string) {
	fmt.Fprintf(&s.out, "event: %s\n", name)
	for line := range strings.SplitSeq(strings.ReplaceAll(data, "\r", ""), "\n") {
		fmt.Fprintf(&s.out, "data: %s\n", line)
	}
	s.out.WriteString("\n")
	if name == "stale" {
		_, _ = s.w.Write(s.out.Bytes()) // the browser is gone
	}
}

// disposition has a browser keep a file under its name.
func disposition(name string) string {
	return mime.FormatMediaType("attachment", map[string]string{"filename": chat.FileName(name)})
}
