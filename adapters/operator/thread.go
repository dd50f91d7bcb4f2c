package operator

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"nod/agent"
	"nod/agent/do"
	"nod/agent/view"
	"nod/chat"
	"nod/llm"
	"nod/memory"
)

type threadRow struct {
	at
	Touched time.Time
}

// thread is the view of one thread at one of its entries; without one, a list.
func (p *Page) thread(r *http.Request, _ int) (any, error) {
	name := strings.TrimSpace(r.URL.Query().Get("id"))
	if name == "" {
		return p.threads(r)
	}
	thread, err := chat.ParseThreadID(name)
	if err != nil {
		return p.search(r.Context(), name)
	}
	at, err := number(r, "at")
	if err != nil {
		return nil, err
	}
	log, err := p.o.Store.Read(r.Context(), thread)
	if err != nil {
		return nil, err
	}
	for len(log) > 0 && log[len(log)-1].Seq == 0 { // these wait in the inbox
		log = log[:len(log)-1]
	}
	facts, err := memory.ReadBook(r.Context(), p.o.Store, p.o.Limits.Place(thread))
	if err != nil {
		return nil, err
	}
	m := p.moment(thread, log, facts, at)
	known := p.names(r.Context())
	m.Place = known.place(thread)
	for _, e := range log {
		if b, ok := e.Body.(memory.Message); ok {
			m.Link = known.link(thread, b.Ref)
			break
		}
	}
	return m, nil
}

func (p *Page) threads(r *http.Request) (any, error) {
	q := memory.ListQuery{Platforms: p.o.Platforms, Most: pageSize}
	if err := after(r, &q); err != nil {
		return nil, err
	}
	found, err := p.o.Threads.Threads(r.Context(), q)
	if err != nil {
		return nil, err
	}
	out, known := moment{}, p.names(r.Context())
	for _, l := range found {
		out.Rows = append(out.Rows, threadRow{p.at(l.Thread, known), l.Touched})
	}
	if len(found) == pageSize {
		out.Next = further(r, found[len(found)-1])
	}
	return out, nil
}

// searched is how many threads are searched for a link or a channel: those that were
// touched last.
const searched = 5000

// search lists the threads that a permalink or a channel stands for.
func (p *Page) search(ctx context.Context, text string) (any, error) {
	wanted, known := parts(text), p.names(ctx)
	var out moment
	q := memory.ListQuery{Platforms: p.o.Platforms, Most: 1000}
	for n := 0; len(wanted) > 0 && n < searched && len(out.Rows) < pageSize; n += q.Most {
		found, err := p.o.Threads.Threads(ctx, q)
		if err != nil {
			return nil, err
		}
		for _, l := range found {
			id := l.Thread.String()
			if !slices.ContainsFunc(wanted, func(w string) bool { return !strings.Contains(id, w) }) {
				out.Rows = append(out.Rows, threadRow{p.at(l.Thread, known), l.Touched})
			}
		}
		if len(found) < q.Most {
			break
		}
		q.After = found[len(found)-1]
	}
	if len(out.Rows) == 0 {
		return nil, mistake{fmt.Errorf("no thread is found for %q: paste the permalink of its first message, a channel's id, or an id such as slack/T012:C034/1795614447.236046", text)}
	}
	return out, nil
}

var (
	slackLink   = regexp.MustCompile(`/archives/([A-Z0-9]+)(?:/p(\d+)(\d{6}))?`)
	slackThread = regexp.MustCompile(`thread_ts=(\d+\.\d+)`)
	discordLink = regexp.MustCompile(`/channels/(?:\d+|@me)/(\d+)`)
	plainID     = regexp.MustCompile(`^[A-Za-z0-9_.:/-]{2,200}$`)
)

// parts are the ids of a link, or the one that a text is. The id of a thread holds all.
func parts(text string) []string {
	if m := slackLink.FindStringSubmatch(text); m != nil {
		root := slackThread.FindStringSubmatch(text)
		switch {
		case root != nil:
			return []string{m[1], root[1]}
		case m[2] != "":
			return []string{m[1], m[2] + "." + m[3]}
		}
		return m[1:2]
	}
	if m := discordLink.FindStringSubmatch(text); m != nil {
		return m[1:]
	}
	if plainID.MatchString(text) && !strings.Contains(text, "://") {
		return []string{text}
	}
	return nil
}

// moment is a thread as it was behind one of its entries, or threads to choose from.
type moment struct {
	Rows []threadRow
	Next string

	Thread, ID      string
	Place           string
	Link            *link // to its first message
	First, At, Last uint64
	Entries         []entryRow
	Earlier, Later  string // addresses; empty: there is nothing
	Decision        string
	Trouble         string // why that can't be said
	Lines           []lineRow
	Prompt          []promptRow
	Tools           []string
}

type entryRow struct {
	Seq  uint64
	At   time.Time
	Kind string
	What string
	Text string
	URL  string
	Here bool
	Bar  *bar
}

type lineRow struct {
	At   time.Time
	Who  string
	Kind string // message, steps, approval, answer, file
	Text string
	More []string
}

type promptRow struct{ Role, Text string }

// around is how many entries are shown before and behind the chosen one.
const around = 60

// mostLines is how many of the thread's last messages are shown.
const mostLines = 30

// moment computes what the thread was at an entry: by the functions that computed it
// then.
func (p *Page) moment(thread chat.ThreadID, log []memory.Entry, facts *memory.Book, at uint64) moment {
	m := moment{Thread: p.word(thread.String()), ID: thread.String()}
	if len(log) == 0 {
		return m
	}
	m.First, m.Last = log[0].Seq, memory.LastSeq(log)
	i := len(log) - 1
	if at > 0 {
		i = max(0, slices.IndexFunc(log, func(e memory.Entry) bool { return e.Seq >= at }))
		if at > m.Last {
			i = len(log) - 1
		}
	}
	m.At = log[i].Seq
	p.timeline(&m, thread, log, i)
	p.replay(&m, thread, log[:i+1], facts)
	return m
}

// timeline lists the entries around the one that is shown.
func (p *Page) timeline(m *moment, thread chat.ThreadID, log []memory.Entry, i int) {
	from, to := max(0, i-around), min(len(log), i+around+1)
	for j, e := range log[from:to] {
		row := entryRow{Seq: e.Seq, At: e.At, Kind: e.Body.Kind(), URL: threadURL(thread, e.Seq), Here: from+j == i}
		row.What, row.Text = p.describe(e.Body)
		m.Entries = append(m.Entries, row)
	}
	m.mark(log, from)
	if from > 0 {
		m.Earlier = threadURL(thread, log[max(0, from-around)].Seq)
	}
	if to < len(log) {
		m.Later = threadURL(thread, log[min(len(log)-1, to+around)].Seq)
	}
}

// replay decides anew. A log that package agent can't be asked about is a fault that is
// shown and hides nothing else.
func (p *Page) replay(m *moment, thread chat.ThreadID, log []memory.Entry, facts *memory.Book) {
	defer func() {
		if r := recover(); r != nil {
			m.Trouble = "this part of the log can't be decided on"
			p.log.Error("panic", "what", "look at a thread", "error", fmt.Sprint(r))
		}
	}()
	then := agent.NewLog(log, agent.Claim{Facts: facts})
	here := slices.DeleteFunc(view.History(then.Thread), func(l chat.Line) bool { return l.Elsewhere != (chat.ThreadID{}) })
	for _, l := range here[max(0, len(here)-mostLines):] {
		m.Lines = append(m.Lines, p.line(l))
	}
	a := p.o.Agent().In(p.o.Limits.Place(thread))
	m.Decision = p.decision(a.Next(then))
	call, ok := a.Prompt(then)
	if !ok {
		return
	}
	for _, msg := range call.Request.Messages {
		m.Prompt = append(m.Prompt, promptRow{string(msg.Role), p.text(written(msg))})
	}
	for _, t := range call.Tools {
		m.Tools = append(m.Tools, p.word(t.Name))
	}
}

// written is a message of a prompt with what it calls.
func written(m llm.Message) string {
	text := m.Text
	for _, c := range m.Calls {
		text += "\n" + c.Name + " " + c.Args
	}
	return strings.TrimSpace(text)
}

// decision says what was to be done next.
func (p *Page) decision(act do.Action) string {
	switch act := act.(type) {
	case do.Wait:
		if act.Until.IsZero() {
			return "wait for somebody"
		}
		return "wait until " + act.Until.UTC().Format(time.DateTime)
	case do.Record:
		return "note " + kinds(act.Bodies)
	case do.Open:
		return fmt.Sprintf("ask for %d approvals", len(act.Asked))
	case do.Judge:
		return fmt.Sprintf("judge the reaction %d", act.Seq)
	case do.Call:
		return fmt.Sprintf("call the model: call %d of the turn, %d messages, %d tools", act.N, len(act.Request.Messages), len(act.Tools))
	case do.Run:
		var names []string
		for _, c := range act.Calls {
			names = append(names, p.tool(c.Tool))
		}
		return "run " + strings.Join(names, ", ")
	case do.Effect:
		return "run " + p.tool(act.Call.Tool) + ", which changes something"
	case do.Post:
		return "post " + memory.PostName(act.Post.Key)
	case do.Edit:
		return "draw " + memory.PostName(act.Post.Key) + " anew"
	case do.Mark:
		return "mark a message as seen"
	case do.Summarise:
		return "have the model sum up what is left out"
	case do.AskWhy:
		return "ask what was wrong with the answer"
	}
	return fmt.Sprintf("%T", act)
}

func kinds(bodies []memory.Body) string {
	var out []string
	for _, b := range bodies {
		out = append(out, b.Kind())
	}
	return strings.Join(out, ", ")
}

// line is a message of the conversation as people saw it.
func (p *Page) line(l chat.Line) lineRow {
	row := lineRow{At: l.At, Who: "nod"}
	switch {
	case l.Message != nil:
		row.Kind, row.Who, row.Text = "message", p.person(l.Message.From), p.text(l.Message.Text)
		for _, f := range l.Message.Files {
			row.More = append(row.More, p.text(f.Name))
		}
	case l.Post.Steps != nil:
		s := l.Post.Steps
		row.Kind, row.Text = "steps", s.Status
		for _, it := range s.Items {
			for _, c := range it.Calls {
				row.Text = strings.ReplaceAll(row.Text, c.Tool, p.tool(c.Tool))
				row.More = append(row.More, p.tool(c.Tool)+" · "+p.word(string(c.State)))
			}
		}
		row.Text = p.word(row.Text)
	case l.Post.Approval != nil:
		a := l.Post.Approval
		row.Kind, row.Text = "approval", fmt.Sprintf("Approval %d: %s", a.Number, p.tool(a.Tool))
		if a.Outcome != "" {
			row.More = append(row.More, p.word(string(a.Outcome)))
		}
		row.More = append(row.More, p.text(a.Args))
	case l.Post.File != nil:
		row.Kind, row.Text = "file", p.text(l.Post.File.Name)
	case l.Post.Text != nil:
		row.Kind, row.Text = "answer", p.text(l.Post.Text.Markdown)
	}
	return row
}

// describe says what an entry is: what may be seen by anybody who may see the page,
// and a text of the conversation.
func (p *Page) describe(b memory.Body) (what, text string) {
	switch b := b.(type) {
	case memory.Message:
		return p.person(b.From), p.text(b.Text)
	case memory.Edited:
		return "", p.text(b.Text)
	case memory.Opened:
		what = fmt.Sprintf("turn %d, asked by %s", b.Turn, p.person(b.Requester))
		if b.Again != 0 {
			what += fmt.Sprintf(", another try of turn %d", b.Again)
		}
		return what, ""
	case memory.Step:
		what = fmt.Sprintf("call %d, %d tokens in (%d cached), %d out, %.1f s", b.N, b.Usage.Prompt, b.Usage.Cached, b.Usage.Completion, b.Took.Seconds())
		for _, c := range b.Calls {
			what += " → " + p.tool(c.Tool)
		}
		return what, p.text(strings.TrimSpace(b.Thought + "\n" + b.Answer))
	case memory.Order:
		return p.person(b.By) + " → " + p.tool(b.Tool), p.text(b.Args)
	case memory.Ran:
		return p.person(b.By) + " → " + p.tool(b.Call.Tool), p.text(b.Call.Args)
	case memory.Previewed:
		return fmt.Sprintf("preview, %.1f s", b.Took.Seconds()), p.text(strings.TrimSpace(b.Err + "\n" + b.Text))
	case memory.Question:
		return p.word(b.Asks.From) + " asks", p.text(b.Asks.Text)
	case memory.Answered:
		return string(b.Answer.How), p.text(strings.TrimSpace(b.Answer.Text + "\n" + b.Why))
	case memory.Result:
		return fmt.Sprintf("%s: %s, %.1f s", p.tool(b.Tool), b.State, b.Took.Seconds()), p.text(b.Text)
	case memory.Asked:
		return fmt.Sprintf("approval %d of %s, by %s", b.Number, p.tool(b.Tool), strings.Join(b.Rules.Approvers, ", ")), ""
	case memory.Vote:
		what = p.person(b.By) + ": " + string(b.Verdict)
		if !b.Counts {
			what += ", does not count: " + p.word(b.Reason)
		}
		return what, ""
	case memory.Decided:
		return strings.TrimSpace(string(b.Outcome) + " " + strings.Join(p.people(b.By), ", ")), ""
	case memory.Started:
		return p.tool(b.Tool), ""
	case memory.Held:
		return "goes on at " + p.word(b.Handle.Server), ""
	case memory.Posted:
		if b.Refused != "" {
			return memory.PostName(b.Key) + ": refused", ""
		}
		return memory.PostName(b.Key), ""
	case memory.Failed:
		return "", p.text(b.Reason)
	case memory.Stopped:
		return "by " + p.person(b.By), ""
	case memory.Reaction:
		return p.person(b.By) + " " + p.word(b.Emoji), ""
	case memory.Trimmed:
		return fmt.Sprintf("from entry %d on", b.Before), p.text(b.Summary)
	case memory.Forgot:
		return "by " + p.person(b.By), ""
	case memory.Broken:
		return "can't be read", ""
	}
	return p.describeKept(b)
}

// describeKept says what an entry about facts or schedules is.
func (p *Page) describeKept(b memory.Body) (what, text string) {
	switch b := b.(type) {
	case memory.Remembered:
		word := map[bool]string{false: "remember", true: "forget fact"}[b.Forgot]
		return fmt.Sprintf("%s → %s %d", p.person(b.By), word, b.Number), p.word(b.Refused)
	case memory.Recalled:
		return fmt.Sprintf("prompts show %d facts", len(b.Facts)), ""
	case memory.Scheduled:
		return fmt.Sprintf("schedule %d of %s, %s", b.Number, p.person(b.By), b.Plan.Time), p.text(b.Plan.Text)
	case memory.Slot:
		what = fmt.Sprintf("schedule %d of %s, %s", b.Number, p.person(b.By), b.Plan.Clock(b.At))
		if b.Skipped > 0 {
			what += fmt.Sprintf(", %d skipped", b.Skipped)
		}
		return what, p.text(b.Plan.Text)
	case memory.Unscheduled:
		what = fmt.Sprintf("schedule %d ends", b.Number)
		if b.Paused {
			what = fmt.Sprintf("schedule %d pauses", b.Number)
		}
		return what, p.text(b.Why)
	}
	return "", ""
}
