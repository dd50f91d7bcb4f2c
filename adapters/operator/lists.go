package operator

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"nod/agent"
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

// waiting is the view of approvals that wait.
type waiting struct {
	Rows []waitingRow
	Next string // address of what follows; empty: nothing does
	Prev string
}

type waitingRow struct {
	Thread, URL       string
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

// waiting lists the approvals that wait, of all processes: a page in the order of the
// store, the oldest of it first.
func (p *Page) waiting(r *http.Request) (any, error) {
	page, err := number(r, "page")
	if err != nil {
		return nil, err
	}
	pending, more, err := p.pending(r.Context(), int(page)*pageSize, pageSize)
	if err != nil {
		return nil, err
	}
	var out waiting
	known := map[chat.ThreadID]view.Watched{}
	for _, a := range pending {
		w, ok := known[a.Thread]
		if !ok {
			if w, err = p.watched(r.Context(), a.Thread); err != nil {
				return nil, err
			}
			known[a.Thread] = w
		}
		for _, ask := range w.Asks {
			if ask.Call == a.Call {
				out.Rows = append(out.Rows, p.waitingRow(a.Thread, ask))
			}
		}
	}
	slices.SortStableFunc(out.Rows, func(a, b waitingRow) int { return a.Asked.Compare(b.Asked) })
	if more {
		out.Next = "/waiting?page=" + strconv.FormatUint(page+1, 10)
	}
	if page > 0 {
		out.Prev = "/waiting?page=" + strconv.FormatUint(page-1, 10)
	}
	return out, nil
}

// pending gives a page of the approvals that wait.
func (p *Page) pending(ctx context.Context, skip, most int) (out []memory.PendingApproval, more bool, err error) {
	for _, platform := range p.o.Platforms {
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

func (p *Page) waitingRow(thread chat.ThreadID, a view.Asking) waitingRow {
	row := waitingRow{
		Thread: p.word(thread.String()), URL: threadURL(thread, 0), Number: a.Number, Tool: p.tool(a.Tool), Digest: a.Digest[:min(12, len(a.Digest))],
		Args: p.text(a.Args), Requester: p.person(a.Requester), Asked: a.At, Until: a.Deadline, Age: age(p.o.Now().Sub(a.At)),
		Approved: p.people(a.Approved), Quorum: a.Quorum, ExcludesRequester: chat.Includes(a.Exclude, a.Requester.ID),
	}
	for _, rule := range a.Approvers {
		row.Who = append(row.Who, p.word(rule))
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
	Thread, URL, Who, Status, Age string
	Calls, Asks                   int
	Touched                       time.Time
}

// looked is how many threads are looked at for a page of those with a turn.
const looked = 200

// live lists the threads with a turn that is not over, among those that were touched
// last.
func (p *Page) live(r *http.Request) (any, error) {
	q := memory.ListQuery{Platforms: p.o.Platforms, Most: looked}
	if err := after(r, &q); err != nil {
		return nil, err
	}
	found, err := p.o.Threads.Threads(r.Context(), q)
	if err != nil {
		return nil, err
	}
	out := live{Seen: len(found)}
	for _, l := range found {
		w, err := p.watched(r.Context(), l.Thread)
		if err != nil {
			return nil, err
		}
		if w.Status == "" {
			continue
		}
		out.Rows = append(out.Rows, liveRow{
			Thread: p.word(l.Thread.String()), URL: threadURL(l.Thread, 0), Who: p.person(w.Requester), Status: p.word(w.Status),
			Age: age(p.o.Now().Sub(w.Since)), Calls: w.Calls, Asks: len(w.Asks), Touched: l.Touched,
		})
	}
	if len(found) == looked {
		out.Next = "/live?" + afterURL(found[len(found)-1])
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

func afterURL(l memory.Listed) string {
	return url.Values{"after": {l.Thread.String()}, "touched": {strconv.FormatInt(l.Touched.UnixMilli(), 10)}}.Encode()
}

// threadURL is the address of a thread's view at an entry; 0 is its end.
func threadURL(thread chat.ThreadID, at uint64) string {
	q := url.Values{"id": {thread.String()}}
	if at > 0 {
		q.Set("at", strconv.FormatUint(at, 10))
	}
	return "/thread?" + q.Encode()
}

// health is how the parts are.
type health struct {
	Parts [][2]string
	Facts [][2]string
	Ready bool
}

func (p *Page) health(r *http.Request) (any, error) {
	out := health{Facts: p.o.Facts}
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
	slices.SortFunc(out.Parts, func(a, b [2]string) int {
		if a[0] < b[0] {
			return -1
		}
		return 1
	})
	return out, nil
}
