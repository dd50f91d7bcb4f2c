package operator

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"nod/agent"
	"nod/agent/facts"
	"nod/agent/view"
	"nod/chat"
	"nod/memory"
)

// pageSize is how many lines of a list are shown at once.
const pageSize = 50

// number reads a number of a request; it is 0 where there is none.
func number(r *http.Request, name string) (uint64, error) {
	text := r.URL.Query().Get(name)
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(text, 10, 62)
	if err != nil {
		return 0, mistake{fmt.Errorf("%q is no number: write one from 0 on for %s", text, name)}
	}
	return n, nil
}

// at is where a row happened: a thread, its message, and the question in it.
type at struct {
	Place, Thread, URL, Question string
	Link                         *link
}

// at names a thread for a list.
func (p *Page) at(thread chat.ThreadID, known known) at {
	return at{Place: known.place(thread), Thread: p.word(thread.String()), URL: threadURL(thread, 0)}
}

// waiting is the view of approvals that wait.
type waiting struct {
	Rows []waitingRow
	pages
	Seen int // with a filter: how many were looked at; 0: all of this page
}

type waitingRow struct {
	at
	ID                string
	Number            int
	Tool, Digest      string
	Args              string
	Requester         string
	Asked, Until      time.Time
	Age               string
	Who               []string // who may decide
	Approved          []string // who did so far
	Quorum            int
	ExcludesRequester bool
}

// filtered is how many approvals a page looks at for those that a filter lets through.
const filtered = 500

// waiting lists the approvals that wait, of all processes: a page in the order of the
// store, the oldest of it first.
func (p *Page) waiting(r *http.Request, page int) (any, error) {
	f, size := filterOf(r), pageSize
	if f.Any() {
		size = filtered
	}
	pending, more, err := p.pending(r.Context(), p.platforms(f), page*size, size)
	if err != nil {
		return nil, err
	}
	out := waiting{pages: pagesOf(r, page, more)}
	if out.Rows, err = p.waitingRows(r, pending); err != nil {
		return nil, err
	}
	if f.Any() {
		out.Seen = len(pending)
	}
	slices.SortStableFunc(out.Rows, func(a, b waitingRow) int { return a.Asked.Compare(b.Asked) })
	return out, nil
}

// waitingRows draws those of some approvals that the request's filter lets through.
func (p *Page) waitingRows(r *http.Request, pending []memory.PendingApproval) (out []waitingRow, err error) {
	f, known, turns := filterOf(r), p.names(r.Context()), map[chat.ThreadID]view.Watched{}
	for _, a := range pending {
		w, ok := turns[a.Thread]
		if !ok {
			if w, err = p.watched(r.Context(), a.Thread); err != nil {
				return nil, err
			}
			turns[a.Thread] = w
		}
		for _, ask := range w.Asks {
			state := stateNone
			if len(ask.Approved) > 0 {
				state = stateSome
			}
			if ask.Call != a.Call || !f.lets(a.Thread.Platform, ask.Tool, state, slices.Concat(ask.Approved, []chat.User{ask.Requester})...) {
				continue
			}
			row := p.waitingRow(a.Thread, ask, known)
			row.Question, row.Link = p.question(w.Message.Text), known.link(a.Thread, a.Ref)
			out = append(out, row)
		}
	}
	return out, nil
}

// pending gives a page of the approvals that wait.
func (p *Page) pending(ctx context.Context, platforms []string, skip, most int) (out []memory.PendingApproval, more bool, err error) {
	for _, platform := range platforms {
		for a, err := range p.o.Store.Pending(ctx, platform) {
			switch {
			case err != nil:
				return nil, false, err
			case skip > 0:
				skip--
			case len(out) == most:
				return out, true, nil
			default:
				out = append(out, a)
			}
		}
	}
	return out, false, nil
}

// watched gives the turn of a thread that is not over. Until its first step is
// committed, which may take as long as a model thinks, the message that it answers is in
// the inbox alone.
func (p *Page) watched(ctx context.Context, thread chat.ThreadID) (view.Watched, error) {
	t, err := p.o.Store.Tail(ctx, thread, 0)
	if err != nil {
		return view.Watched{}, err
	}
	log := agent.NewLog(t.Log, agent.Claim{})
	w, ok := view.Watch(log.Thread)
	if ok {
		return w, nil
	}
	for i, e := range t.Inbox {
		e.Seq = t.Last + uint64(i) + 1 // where a commit would put it
		log.Append(e)
	}
	w, _ = view.Watch(log.Thread)
	return w, nil
}

func (p *Page) waitingRow(thread chat.ThreadID, a view.Asking, known known) waitingRow {
	row := waitingRow{
		at: p.at(thread, known), ID: thread.String() + " " + a.Call, Number: a.Number, Tool: p.tool(a.Tool), Digest: a.Digest[:min(12, len(a.Digest))],
		Args: p.text(a.Args), Requester: p.person(a.Requester), Asked: a.At, Until: a.Deadline, Age: age(p.o.Now().Sub(a.At)),
		Approved: p.people(a.Approved), Quorum: a.Quorum, ExcludesRequester: chat.Includes(a.Exclude, a.Requester.ID),
	}
	for _, rule := range a.Approvers {
		row.Who = append(row.Who, known.rule(thread.Platform, rule))
	}
	return row
}

// age is a length of time as people say it.
func age(d time.Duration) string {
	switch {
	case d < time.Minute:
		return strconv.Itoa(int(max(0, d).Seconds())) + " s"
	case d < time.Hour:
		return strconv.Itoa(int(d.Minutes())) + " min"
	}
	return strconv.Itoa(int(d.Hours())) + " h " + strconv.Itoa(int(d.Minutes())%60) + " min"
}

// live is the view of threads with a turn.
type live struct {
	Rows []liveRow
	Seen int    // how many threads were looked at for them
	Next string // address of what follows
}

type liveRow struct {
	at
	Who, Status, Age string
	Calls, Asks      int
}

// looked is how many threads are looked at for a page of those with a turn.
const looked = 200

// live lists the threads with a turn that is not over, among those that were touched
// last.
func (p *Page) live(r *http.Request, _ int) (any, error) {
	f := filterOf(r)
	q := memory.ListQuery{Platforms: p.platforms(f), Most: looked}
	if err := after(r, &q); err != nil {
		return nil, err
	}
	found, err := p.o.Threads.Threads(r.Context(), q)
	if err != nil {
		return nil, err
	}
	out, known := live{Seen: len(found)}, p.names(r.Context())
	for _, l := range found {
		w, err := p.watched(r.Context(), l.Thread)
		if err != nil {
			return nil, err
		}
		state := stateWorks
		if len(w.Asks) > 0 {
			state = stateWaits
		}
		if w.Status == "" || !f.lets(l.Thread.Platform, w.Status, state, w.Requester) {
			continue
		}
		row := liveRow{at: p.at(l.Thread, known), Who: p.person(w.Requester), Status: p.word(w.Status), Age: age(p.o.Now().Sub(w.Since)), Calls: w.Calls, Asks: len(w.Asks)}
		row.Question, row.Link = p.question(w.Message.Text), known.link(l.Thread, w.Message.Ref)
		out.Rows = append(out.Rows, row)
	}
	if len(found) == looked {
		out.Next = further(r, found[len(found)-1])
	}
	return out, nil
}

// after has a query go on behind the thread that a request names.
func after(r *http.Request, q *memory.ListQuery) error {
	name := r.URL.Query().Get("after")
	if name == "" {
		return nil
	}
	at, err := number(r, "touched")
	if err != nil {
		return err
	}
	thread, err := chat.ParseThreadID(name)
	if err != nil {
		return mistake{err}
	}
	q.After = memory.Listed{Thread: thread, Touched: time.UnixMilli(int64(at)).UTC()}
	return nil
}

// further is the address of a request for what stands behind a thread.
func further(r *http.Request, l memory.Listed) string {
	return address(r, "after", l.Thread.String(), "touched", strconv.FormatInt(l.Touched.UnixMilli(), 10))
}

// threadURL is the address of a thread's view at an entry; 0 is its end.
func threadURL(thread chat.ThreadID, at uint64) string {
	q := url.Values{"id": {thread.String()}}
	if at > 0 {
		q.Set("at", strconv.FormatUint(at, 10))
	}
	return "/thread?" + q.Encode()
}

// health is how the parts are, and what is kept for channels.
type health struct {
	Parts [][2]string
	Facts [][2]string
	Ready bool
	Books []bookRow
	Away  bool // the books can't be read
	pages
}

func (p *Page) health(r *http.Request, page int) (any, error) {
	out := health{Facts: p.o.Facts}
	if err := p.books(r, page, &out); err != nil {
		p.log.Error("read facts", "error", err)
		out.Away = true
	}
	if p.o.Health == nil {
		return out, nil
	}
	state := p.o.Health(r.Context())
	out.Ready, _ = state["ready"].(bool)
	for name, is := range state {
		if text, ok := is.(string); ok {
			out.Parts = append(out.Parts, [2]string{name, p.word(text)})
		}
	}
	slices.SortFunc(out.Parts, func(a, b [2]string) int { return strings.Compare(a[0], b[0]) })
	return out, nil
}

// bookRow is the facts of a channel, and the thread of the first one.
type bookRow struct {
	at
	Lines []string
}

// books lists a page of the channels that have facts.
func (p *Page) books(r *http.Request, page int, out *health) error {
	all, err := memory.Books(r.Context(), p.o.Store)
	if err != nil {
		return err
	}
	all, out.pages = pageOf(r, page, all)
	known := p.names(r.Context())
	for _, place := range all {
		b, err := memory.ReadBook(r.Context(), p.o.Store, place)
		if err != nil {
			return err
		}
		for i := range b.Facts {
			f := &b.Facts[i]
			f.Text, f.Source, f.By.Name = p.text(f.Text), p.text(f.Source), p.person(f.By)
		}
		if len(b.Facts) > 0 {
			out.Books = append(out.Books, bookRow{p.at(b.Facts[0].In, known), facts.Lines(b)})
		}
	}
	return nil
}
