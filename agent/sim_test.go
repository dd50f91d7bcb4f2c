package agent_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"nod/agent"
	"nod/agent/approval"
	"nod/agent/do"
	"nod/agent/policy"
	"nod/chat"
	"nod/llm"
	"nod/llm/args"
	"nod/memory"
)

// sim performs what Next says on a log in memory, with no store, no clock and
// no goroutine: what agent/run does, as plainly as it can be written down. It
// calls check before a side effect runs.
type sim struct {
	agent   *agent.Agent
	entries []memory.Entry
	held    *agent.Log // as it was read last
	base    int
	claimed uint64
	life    int // counts the processes
	now     time.Time
	model   func(llm.Request) llm.Response
	summary func(llm.Request) llm.Response // nil: the model
	groups  map[string][]chat.UserID
	barred  map[chat.UserID]string
	check   func(call memory.Call)
	would   func(call memory.Call) chat.Preview
	cards   map[int]chat.Approval // as they were shown last, by number
	waiters []chat.Waiter         // who waited for what was posted, where that is said
	texts   []string              // that were posted
	crash   func() bool           // whether the process dies now
	ran     map[string]int
	posts   map[string]int
	prompts []llm.Request
	book    memory.Book // of the channel
}

func newSim(a *agent.Agent) *sim {
	return &sim{
		agent: a, now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), claimed: 1,
		check: func(memory.Call) {}, cards: map[int]chat.Approval{}, crash: func() bool { return false },
		summary: func(llm.Request) llm.Response { return llm.Response{Text: "What was said so far."} },
		ran:     map[string]int{}, posts: map[string]int{}, groups: map[string][]chat.UserID{},
	}
}

func (s *sim) add(bodies ...memory.Body) {
	for _, b := range bodies {
		s.entries = append(s.entries, memory.Entry{Seq: uint64(len(s.entries) + 1), At: s.now, Body: b})
		if cut, ok := b.(memory.Trimmed); ok && cut.Before > 0 {
			s.base = int(cmp.Or(cut.From, cut.Before)) - 1
		}
	}
}

// log is what a store loads: the entries from the base on. As in agent/run, a log that was
// read before goes on, and only a new process, or one of a trim, reads it from its beginning.
func (s *sim) log() *agent.Log {
	entries, claim := s.entries[s.base:], agent.Claim{Since: s.claimed, Self: fmt.Sprint("p", s.life), Now: s.now}
	if s.held == nil || !s.held.Resume(entries, claim) {
		s.held = agent.NewLog(entries, claim)
	}
	s.held.Book = &s.book
	return s.held
}

func (s *sim) says(who, text string) {
	n := len(s.entries) + 1
	s.add(memory.Message{Message: chat.Message{
		Ref:  chat.MessageRef{Platform: "sim", Channel: "c", ID: fmt.Sprint("m", n)},
		From: chat.User{ID: chat.UserID(who), Name: who}, Text: text,
	}})
}

// run goes on until the thread waits; it returns until when.
func (s *sim) run() time.Time {
	for range 500 {
		log := s.log()
		for _, gone := range log.Others() {
			log.Heard(gone, memory.Forever)
		}
		if s.beside(log) {
			continue
		}
		act := s.agent.Next(log)
		if w, ok := act.(do.Wait); ok {
			return w.Until
		}
		if s.crash() {
			s.die()
			continue
		}
		s.perform(act)
	}
	panic("the thread does not come to rest")
}

// beside does the first of what nothing waits for; ok is false where there is
// nothing.
func (s *sim) beside(log *agent.Log) (ok bool) {
	for _, act := range s.agent.Beside(log) {
		switch act := act.(type) {
		case do.Copy:
			name := memory.PostName(act.Post.Key)
			if s.posts[name] == 0 || !act.Look {
				s.posts[name]++
			}
			if !s.crash() {
				s.shows(act.Post)
				s.add(memory.Posted{Key: act.Post.Key, Ref: ref(name)})
				return true
			}
			s.die()
			return true
		case do.Seek:
			var who []chat.User
			for _, rule := range act.Rules {
				if id, ok := strings.CutPrefix(rule, "user:"); ok {
					who = append(who, chat.User{ID: chat.UserID(id)})
				}
				for _, id := range s.groups[rule] {
					who = append(who, chat.User{ID: id})
				}
			}
			if b, ok := s.agent.Sought(log, act, who, nil); ok {
				s.add(b)
				return true
			}
		case do.Edit:
			s.perform(act)
			return true
		}
	}
	return false
}

// shows notes what a card shows from now on.
func (s *sim) shows(p chat.Post) {
	if p.Approval != nil {
		s.cards[p.Approval.Number] = *p.Approval
	}
	if p.Text != nil {
		s.texts = append(s.texts, p.Text.Markdown)
	}
	if p.Text != nil && p.Text.Waits != nil {
		s.waiters = append(s.waiters, *p.Text.Waits)
	}
}

// die has another process go on, which knows that this one is gone.
func (s *sim) die() { s.claimed, s.life, s.held = uint64(len(s.entries)+1), s.life+1, nil }

func (s *sim) perform(act do.Action) {
	switch act := act.(type) {
	case do.Record:
		s.add(act.Bodies...)
	case do.Open:
		for _, a := range act.Asked {
			s.add(a)
		}
	case do.Judge:
		_, v, lapsed, ok := s.agent.Vote(s.log(), s.lookUp(act.Ask))
		if !ok { // things happened meanwhile
			break
		}
		for _, l := range lapsed {
			s.add(l)
		}
		s.add(v)
	case do.Identify:
		for _, who := range act.Who {
			in := slices.DeleteFunc(slices.Clone(act.Rules), func(rule string) bool { return !slices.Contains(s.groups[rule], who) })
			s.add(memory.Belongs{Turn: act.Turn, Call: act.Call, Who: who, Rules: act.Rules, In: in})
		}
	case do.Change:
		b, ok := s.agent.Changed(s.log(), act, func(rule string) (bool, error) { return slices.Contains(s.groups[rule], act.By.ID), nil })
		if ok {
			s.add(b)
		}
	case do.Call:
		s.prompts = append(s.prompts, act.Request)
		s.add(append(act.Before, s.agent.Step(act, s.model(act.Request), time.Second))...)
	case do.Summarise:
		s.add(s.agent.Summarised(s.log(), act, s.summary(act.Request)))
	case do.Run:
		for _, c := range act.Calls {
			s.add(memory.Result{Call: c.ID, Tool: c.Tool, State: chat.CallDone, Text: "read", Origin: s.agent.Tools.Origin(c.Tool)})
		}
	case do.Effect:
		s.effect(act)
	case do.Preview:
		for _, c := range act.Calls {
			s.add(approval.Previewed(c, s.would(c), time.Second))
		}
	case do.Post:
		s.shows(act.Post)
		s.posts[memory.PostName(act.Post.Key)]++
		s.add(append([]memory.Body{memory.Posted{Key: act.Post.Key, Ref: ref(memory.PostName(act.Post.Key))}}, act.Then...)...)
	case do.Edit:
		s.shows(act.Post)
		s.add(append([]memory.Body{memory.Posted{Key: act.Key}}, act.Then...)...)
	case do.AskWhy:
		s.add(memory.Posted{Key: act.Key})
	case do.Mark:
		s.add(memory.Seen{Message: act.Message})
	default:
		panic(fmt.Sprintf("no action %T", act))
	}
}

// lookUp says what a platform says of people.
func (s *sim) lookUp(ask approval.Ask) approval.Facts {
	known := approval.Facts{}
	for _, u := range append(ask.People, ask.Among...) {
		k := approval.Known{User: u, Asked: true, Groups: map[string]approval.Membership{}}
		k.User.Barred = s.barred[u.ID]
		for _, rule := range ask.Rules {
			k.Groups[rule] = approval.Membership{In: slices.Contains(s.groups[rule], u.ID)}
		}
		known[u.ID] = k
	}
	return known
}

func (s *sim) effect(act do.Effect) {
	s.check(act.Call)
	s.add(act.Started)
	if s.crash() {
		s.die()
		return
	}
	s.ran[act.Call.ID]++
	if s.crash() {
		s.die()
		return
	}
	s.add(memory.Result{Call: act.Call.ID, Tool: act.Call.Tool, State: chat.CallDone, Text: "done", Origin: s.agent.Tools.Origin(act.Call.Tool)})
}

func ref(key string) chat.MessageRef {
	return chat.MessageRef{Platform: "sim", Channel: "c", ID: key}
}

func newTool(name string, risk policy.Risk, rules memory.Rules) policy.Tool {
	schema, err := args.Compile([]byte(`{"type":"object"}`))
	if err != nil {
		panic(err)
	}
	return policy.Tool{
		Tool:   llm.Tool{Name: name, Description: name, Parameters: []byte(`{"type":"object"}`)},
		Schema: schema, Risk: risk, ReadOnly: strings.HasPrefix(name, "read"), Rules: rules,
	}
}
