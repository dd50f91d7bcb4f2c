// Package trace turns logs into spans of OpenTelemetry, for people who watch many
// programs with one tool (https://opentelemetry.io/docs/concepts/signals/traces/).
//
// A span is read off the log, so a crash loses none. Its ids come from the thread and
// the entry that ends it, and its times are those of entries. Every reader of the log
// finds the same spans: another process after a crash, or a command a week later. A
// collector that receives a span twice receives the same one.
//
// A turn is a trace: invoke_agent, and below it chat (a model call), execute_tool,
// await_approval and post. A span exists once the entry that ends it exists, and no later entry
// changes it.
//
// The package does no I/O and has no clock. trace/otlp sends the spans.
package trace

import (
	"cmp"
	"crypto/sha256"
	"strconv"
	"strings"
	"time"

	"nod/chat"
	"nod/memory"
)

// Span is a part of a turn.
type Span struct {
	Trace  [16]byte
	ID     [8]byte
	Parent [8]byte // zero: none
	Seq    uint64  // of the entry that ended it
	Name   string
	Kind   Kind
	Start  time.Time
	End    time.Time
	Attrs  []Attr
	Error  string // why it failed, as one of a few words; empty: it did not
}

// Kind is the kind of a span in the protocol
// (https://opentelemetry.io/docs/specs/otel/trace/api/#spankind).
type Kind int

// The kinds that there are here, with their numbers in the protocol.
const (
	Internal Kind = 1
	Client   Kind = 3
)

// Attr is something that is known of a span. Value is a string, an int64, a bool or a
// []string.
type Attr struct {
	Key   string
	Value any
}

// Options select the content of spans.
type Options struct {
	Content bool                // messages, arguments, results and answers too
	Mask    func(string) string // takes secrets out of those; nil: there are none
	Who     func(string) string // the pseudonym of platform:user; nil: people are left out
	Server  string              // the host of the model's endpoint; "" leaves it out
	Port    int64
}

// Spans gives the spans of all turns that begin in the log, in the order of the
// entries that ended them.
func Spans(thread chat.ThreadID, log []memory.Entry, o Options) []Span {
	r := reader{thread: thread, o: o, calls: map[string]*call{}, came: map[uint64]memory.Entry{}}
	for _, e := range log {
		r.read(e)
	}
	return r.spans
}

// Current gives the part of a log in which the last turn is, from the message on
// that opened it: all that [Spans] needs for that turn.
func Current(log []memory.Entry) []memory.Entry {
	turn := uint64(0)
	for i := len(log) - 1; i >= 0; i-- {
		if b, ok := log[i].Body.(memory.Opened); ok {
			if turn != 0 {
				break // another turn
			}
			turn = b.Turn
		}
		if turn != 0 && log[i].Seq == turn {
			return log[i:]
		}
	}
	if turn == 0 {
		return nil
	}
	return log // the message is not loaded any more
}

// reader reads a log from front to back.
type reader struct {
	thread chat.ThreadID
	o      Options
	turn   *turn
	calls  map[string]*call
	came   map[uint64]memory.Entry // messages that may open a turn
	spans  []Span
}

// turn is the open turn.
type turn struct {
	memory.Opened
	trace   [16]byte
	root    [8]byte
	start   time.Time
	moved   time.Time // the newest step or result, which posts follow
	said    []string
	answer  string
	steps   int64
	prompt  int64
	cached  int64
	written int64
	outcome string
	cause   string // of a failure
}

// call is the state of a call so far.
type call struct {
	memory.Call
	asked   *memory.Asked
	askedAt time.Time
	started time.Time
	votes   int64
	decided bool
	done    bool
}

func (r *reader) read(e memory.Entry) {
	switch b := e.Body.(type) {
	case memory.Message:
		r.came[e.Seq] = e
		if r.turn != nil {
			r.turn.said = append(r.turn.said, b.Text)
		}
	case memory.Slot:
		r.came[e.Seq] = e
	case memory.Opened:
		r.open(e, b)
	case memory.Step:
		r.step(e, b)
	case memory.Ran:
		r.calls[b.Call.ID] = &call{Call: b.Call}
	case memory.Asked:
		if c := r.calls[b.Call]; c != nil && c.asked == nil {
			c.asked, c.askedAt = &b, e.At
		}
	case memory.Vote:
		if c := r.calls[b.Call]; c != nil && b.Counts {
			c.votes++
		}
	case memory.Decided:
		r.decided(e, b)
	case memory.Started:
		if c := r.calls[b.Call]; c != nil {
			c.started = e.At
		}
	case memory.Result:
		r.result(e, b)
	case memory.Posted:
		r.posted(e, b)
	case memory.Stopped:
		r.ends(e, b.Turn, "stopped", "")
	case memory.Failed:
		how, cause := "failed", cmp.Or(b.Cause, "failed")
		if b.Limited {
			how, cause = "limited", ""
		}
		r.ends(e, b.Turn, how, cause)
	case memory.Ended:
		r.ended(e, b)
	case memory.Forgot:
		r.turn, r.calls = nil, map[string]*call{}
	}
}

// open begins a turn: at the message that it answers, since the entry is written
// with the first thing that came of it.
func (r *reader) open(e memory.Entry, b memory.Opened) {
	t := &turn{Opened: b, start: e.At, outcome: "answered"}
	if m, ok := r.came[b.Turn]; ok {
		t.start = m.At
	}
	for seq := b.Turn; seq < e.Seq; seq++ {
		switch m := r.came[seq].Body.(type) {
		case memory.Message:
			if !m.Aside {
				t.said = append(t.said, m.Text)
			}
		case memory.Slot:
			t.said = append(t.said, m.Plan.Text)
		}
	}
	id := r.digest("turn", b.Turn, b.Name)
	copy(t.trace[:], id[:16])
	copy(t.root[:], id[16:24])
	t.moved = t.start
	r.turn, r.calls, r.came = t, map[string]*call{}, map[uint64]memory.Entry{}
}

// digest makes an id. Seq alone is not enough: a store that came back without its
// last second gives the same number twice.
func (r *reader) digest(what string, seq uint64, more string) [32]byte {
	return sha256.Sum256([]byte(strings.Join([]string{what, r.thread.String(), strconv.FormatUint(seq, 10), more}, "\x00")))
}

// add puts a span below the turn's.
func (r *reader) add(e memory.Entry, s Span) {
	id := r.digest(s.Name, e.Seq, r.turn.Name+"\x00"+strconv.FormatInt(e.At.UnixMilli(), 10))
	copy(s.ID[:], id[:8])
	s.Trace, s.Parent, s.Seq, s.End = r.turn.trace, r.turn.root, e.Seq, e.At
	if s.Start.Before(r.turn.start) {
		s.Start = r.turn.start
	}
	if s.Start.After(s.End) {
		s.Start = s.End
	}
	r.spans = append(r.spans, s)
}

func (r *reader) step(e memory.Entry, b memory.Step) {
	t := r.turn
	if t == nil || b.Turn != t.Turn {
		return
	}
	t.steps++
	t.moved = e.At
	t.prompt += int64(b.Usage.Prompt)
	t.cached += int64(b.Usage.Cached)
	t.written += int64(b.Usage.Completion)
	if len(b.Calls) == 0 {
		t.answer = b.Answer
	}
	for _, c := range b.Calls {
		r.calls[c.ID] = &call{Call: c}
	}
	s := Span{Name: named("chat", b.Model), Kind: Client, Start: e.At.Add(-b.Took)}
	s.Attrs = append(r.common("chat"), r.model(b)...)
	s.Attrs = append(s.Attrs, usage(int64(b.Usage.Prompt), int64(b.Usage.Cached), int64(b.Usage.Completion))...)
	s.Attrs = append(s.Attrs, Attr{attrStep, int64(b.N)})
	if b.Phase != "" {
		s.Attrs = append(s.Attrs, Attr{attrPhase, string(b.Phase)})
	}
	if b.Failed {
		s.Error = cmp.Or(b.Cause, "failed")
	} else {
		s.Attrs = append(s.Attrs, Attr{attrFinish, []string{finish(b)}})
	}
	if r.o.Content {
		s.Attrs = append(s.Attrs, Attr{attrOutput, r.output(b)})
	}
	r.add(e, s)
}

func (r *reader) decided(e memory.Entry, b memory.Decided) {
	c := r.calls[b.Call]
	if r.turn == nil || c == nil || c.asked == nil || c.decided {
		return
	}
	c.decided = true
	r.add(e, Span{
		Name: named("await_approval", tool(c.Tool)), Kind: Internal, Start: c.askedAt,
		Attrs: append(r.common("await_approval"),
			Attr{attrTool, tool(c.Tool)}, Attr{attrCall, c.ID}, Attr{attrApproval, int64(c.asked.Number)},
			Attr{attrOutcome, strings.ToLower(string(b.Outcome))}, Attr{attrQuorum, int64(c.asked.Rules.Quorum)}, Attr{attrVotes, c.votes}),
	})
}

// result ends a call that began. One that was denied never did: of that the
// approval's span tells.
func (r *reader) result(e memory.Entry, b memory.Result) {
	c := r.calls[b.Call]
	if r.turn == nil || c == nil || c.done {
		return
	}
	c.done = true
	r.turn.moved = e.At
	switch b.State {
	case chat.CallDenied, chat.CallExpired, chat.CallCancelled:
		if c.started.IsZero() {
			return
		}
	}
	start := c.started
	if start.IsZero() {
		start = e.At.Add(-b.Took)
	}
	s := Span{
		Name: named("execute_tool", tool(b.Tool)), Kind: Internal, Start: start,
		Attrs: append(r.common("execute_tool"), Attr{attrTool, tool(b.Tool)}, Attr{attrCall, b.Call}, Attr{attrOutcome, string(b.State)}),
	}
	if b.State != chat.CallDone {
		s.Error = string(b.State)
	}
	if r.o.Content {
		s.Attrs = append(s.Attrs, Attr{attrArguments, r.mask(c.Args)}, Attr{attrResult, r.mask(b.Text)})
	}
	r.add(e, s)
}

// ofPost gives the kind of a post that people wait for. It is "" for others, and for an
// entry that is no post.
func ofPost(b memory.Body) string {
	p, ok := b.(memory.Posted)
	if !ok || p.Ref == (chat.MessageRef{}) || p.At != (chat.ThreadID{}) {
		return ""
	}
	kind, rest, _ := strings.Cut(memory.PostName(p.Key), "/")
	switch kind {
	case "ask":
		return "approval"
	case "ran":
		return "answer"
	case "answer":
		return kind
	case "steps":
		if !strings.Contains(rest, "/") { // else it is an edit
			return kind
		}
	}
	return ""
}

// Ends says whether a span may end with an entry.
func Ends(b memory.Body) bool {
	switch b.(type) {
	case memory.Step, memory.Decided, memory.Result, memory.Ended:
		return true
	}
	return ofPost(b) != ""
}

// posted ends the wait of a post for the platform: for its limits, and for its answer.
func (r *reader) posted(e memory.Entry, b memory.Posted) {
	kind := ofPost(b)
	if r.turn == nil || kind == "" {
		return
	}
	start := r.turn.moved
	if call, ok := memory.Asks(b.Key); ok && r.calls[call] != nil {
		start = r.calls[call].askedAt
	}
	r.add(e, Span{Name: named("post", kind), Kind: Client, Start: start, Attrs: append(r.common("post"), Attr{attrPost, kind})})
}

func (r *reader) ends(e memory.Entry, turn uint64, how, cause string) {
	if r.turn != nil && r.turn.Turn == turn {
		r.turn.outcome, r.turn.cause, r.turn.moved = how, cause, e.At
	}
}

// ended is the end of the turn, and so of the span above all others.
func (r *reader) ended(e memory.Entry, b memory.Ended) {
	t := r.turn
	if t == nil || t.Turn != b.Turn {
		return
	}
	s := Span{Trace: t.trace, ID: t.root, Seq: e.Seq, Name: named("invoke_agent", agentName), Kind: Internal, Start: t.start, End: e.At}
	s.Attrs = append(r.common("invoke_agent"), Attr{attrAgent, agentName})
	s.Attrs = append(s.Attrs, r.requester(t.Requester.ID)...)
	s.Attrs = append(s.Attrs, usage(t.prompt, t.cached, t.written)...)
	s.Attrs = append(s.Attrs, Attr{attrTurn, int64(t.Turn)}, Attr{attrSteps, t.steps}, Attr{attrOutcome, t.outcome})
	s.Error = t.cause
	if r.o.Content {
		s.Attrs = append(s.Attrs, Attr{attrInput, r.messages("user", t.said...)}, Attr{attrOutput, r.messages("assistant", t.answer)})
	}
	r.spans, r.turn = append(r.spans, s), nil
}

func (r *reader) mask(text string) string {
	if r.o.Mask == nil {
		return text
	}
	return r.o.Mask(text)
}
