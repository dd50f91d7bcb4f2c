package web

import (
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"nod/chat"
)

// still is how often a stream says something though nothing changed.
const still = 20 * time.Second

// mark writes how far a browser has seen: this process, and a number of its board.
func (b *board) mark(changed uint64) string { return b.epoch + "." + strconv.FormatUint(changed, 10) }

// read reads a mark; known is false for one of another process.
func (b *board) read(mark string) (changed uint64, known bool) {
	epoch, n, _ := strings.Cut(mark, ".")
	changed, err := strconv.ParseUint(n, 10, 64)
	return changed, err == nil && epoch == b.epoch
}

// events says, as server-sent events
// (https://html.spec.whatwg.org/multipage/server-sent-events.html), that something changed,
// until the browser leaves. All pages of a browser share one such stream: each then asks for
// its own changes, since browsers open few connections to one host.
func (a *Adapter) events(w http.ResponseWriter, r *http.Request) {
	flush := http.NewResponseController(w)
	changed, stop := a.board.watch()
	defer stop()
	w.Header().Set("Content-Type", "text/event-stream")
	beat := time.NewTicker(still)
	defer beat.Stop()
	for {
		_, err := fmt.Fprintf(w, "event: changed\ndata: %s\n\n", a.board.epoch)
		if err != nil || flush.Flush() != nil {
			return
		}
		select {
		case <-changed:
		case <-beat.C: // so that neither side takes the other for gone
		case <-r.Context().Done():
			return
		}
	}
}

// changes are what one page is sent.
type changes struct {
	Seen  string    `json:"seen"` // a mark: up to where these go
	Cards []newCard `json:"cards"`
	Off   []string  `json:"off"`  // elements that stand there no more
	Side  string    `json:"side"` // as it is now
	Sign  string    `json:"sign"`
}

// newCard is a message that is new, or changed.
type newCard struct {
	Pane  string `json:"pane"`
	ID    string `json:"id"`
	HTML  string `json:"html"`
	Known bool   `json:"known"` // it belongs there only where it stands already
}

// changes sends what changed in a view since a mark; nothing for one of another process.
func (a *Adapter) changes(w http.ResponseWriter, r *http.Request) {
	v := a.view(r.URL.Query())
	since, known := a.board.read(r.URL.Query().Get("since"))
	w.Header().Set("Content-Type", "application/json")
	if !known {
		_ = json.NewEncoder(w).Encode(changes{}) // the browser is gone
		return
	}
	l := a.look(since, v)
	c := changes{Seen: a.board.mark(l.now), Side: a.html("side", a.sidebar(v, l)), Sign: a.html("sign", screen{View: v, Sign: l.sign})}
	for _, it := range l.items {
		for pane, in := range map[string]func(*item) bool{paneChannel: v.inChannel, paneThread: v.inThread} {
			switch {
			case it.off:
				c.Off = append(c.Off, cardID(pane, it.ref))
			case in(&it):
				known := v.Channel == waitingName && !v.waits(&it)
				c.Cards = append(c.Cards, newCard{pane, cardID(pane, it.ref), a.html("card", cardOf(it, v, pane)), known})
			}
		}
	}
	_ = json.NewEncoder(w).Encode(c) // the browser is gone
}

// look gives what changed after a number, as a view shows it now.
func (a *Adapter) look(after uint64, v view) look {
	l := a.board.look(after, v)
	if s := l.sign; s != nil {
		s.Secs = int64(a.o.Now().Sub(s.Since).Seconds())
		s.Next = max(0, int64(s.Work.Next.Sub(a.o.Now()).Seconds()))
	}
	return l
}

// disposition has a browser keep a file under its name.
func disposition(name string) string {
	return mime.FormatMediaType("attachment", map[string]string{"filename": chat.FileName(name)})
}
