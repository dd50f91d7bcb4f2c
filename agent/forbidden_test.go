package agent_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"nod/agent"
	"nod/agent/speak"
	"nod/chat"
	"nod/llm"
	"nod/memory"
)

// deed is something that somebody did, as the test itself remembers it.
type deed struct {
	seq     uint64 // of its entry
	by      chat.User
	call    string // whose card it is about, as [memory.Nth] names it
	what    string // yes, no, back, allow, revoke, go, run, edit, outdated
	number  int    // of what is revoked
	members []chat.UserID
}

// crowd is a thread in which anybody does anything.
type crowd struct {
	*sim
	t     *rapid.T
	rules memory.Rules
	tool  agent.Tool
	state int // of the world that a preview tells of; 0: none can be made
	deeds []deed
}

// folk are colleagues, a guest, who may ask and never approve, and a bot.
var folk = []chat.User{
	{ID: "ada", Name: "ada"},
	{ID: "bob", Name: "bob"},
	{ID: "dan", Name: "dan"},
	{ID: "eve", Name: "eve"},
	{ID: "gus", Name: "gus", Barred: "guests may not approve"},
	{ID: "bot", Name: "bot", Bot: true},
}

// Whatever is said, run by hand, put on cards here and elsewhere, taken back, changed by
// word and by form, allowed, revoked and denied, by whomever, while people join and
// leave the group, the world of which previews tell changes, and processes die: nothing
// runs that the rules, stated here a second time, forbid. `make long` plays 10⁵ of these.
func TestNothingForbiddenRuns(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		rules := memory.Rules{
			Approvers:        rapid.SampledFrom([][]string{{"requester"}, {"anyone"}, {"user:bob", "user:dan", "user:gus"}, {"group:g"}, {"requester", "group:g"}}).Draw(t, "approvers"),
			Quorum:           rapid.IntRange(1, 2).Draw(t, "quorum"),
			ExcludeRequester: rapid.Bool().Draw(t, "exclude"),
			ExcludeThread:    rapid.Bool().Draw(t, "exclude all"),
			Timeout:          time.Hour, Approve: []string{"✅"}, Deny: []string{"❌"},
			Grants: memory.Grants{Most: 30 * time.Minute, Uses: 2},
			Direct: rapid.IntRange(0, 3).Draw(t, "direct") == 0,
		}
		rules.ExcludeThread = rules.ExcludeThread && rules.ExcludeRequester
		act := newTool("act", agent.Ask, rules)
		act.Preview = rapid.Bool().Draw(t, "preview")
		act.PreviewRequired = act.Preview && rapid.Bool().Draw(t, "required")
		a := &agent.Agent{Protocol: speak.NativeTools{}, MaxSteps: 3, Count: func(s string) int { return len(s) }, Tools: []agent.Tool{act}}
		c := &crowd{sim: newSim(a), t: t, rules: rules, tool: act, state: 1}
		c.would = c.wouldDo
		c.groups["group:g"] = []chat.UserID{"bob", "dan"}
		c.model = func(req llm.Request) llm.Response {
			if req.Messages[len(req.Messages)-1].Role == llm.ToolRole {
				return llm.Response{Text: "over"}
			}
			calls := []llm.Call{{ID: "a", Name: "act", Args: `{"n":1}`}, {ID: "b", Name: "act", Args: `{"n":2}`}}
			return llm.Response{Calls: calls[:rapid.IntRange(1, 2).Draw(t, "calls")]}
		}
		c.check = c.permitted
		c.crash = func() bool { return rapid.IntRange(0, 9).Draw(t, "crash") == 0 }
		for range rapid.IntRange(1, 20).Draw(t, "events") {
			c.now = c.now.Add(time.Second)
			c.happens()
			c.run()
		}
		for id, n := range c.ran {
			if n > 1 {
				t.Fatalf("call %s ran %d times", id, n)
			}
		}
	})
}

// does notes a deed, and has its entry in the log.
func (c *crowd) does(d deed, b memory.Body) {
	d.seq = uint64(len(c.entries) + 1)
	d.members = c.groups["group:g"]
	c.deeds = append(c.deeds, d)
	c.add(b)
}

func (c *crowd) text(by chat.User, text string) memory.Body {
	return memory.Message{Message: chat.Message{
		Ref: chat.MessageRef{Platform: "sim", Channel: "c", ID: fmt.Sprint("m", len(c.entries)+1)}, From: by, Text: text,
	}}
}

// wouldDo is what a preview of a call comes to now.
func (c *crowd) wouldDo(call memory.Call) chat.Preview {
	if c.state == 0 {
		return chat.Preview{Err: "it is down"}
	}
	return chat.Preview{Text: fmt.Sprint(call.Args, " in ", c.state)}
}

// happens is one thing that somebody does.
func (c *crowd) happens() {
	by := rapid.SampledFrom(folk).Draw(c.t, "who")
	var at memory.Asked
	if waiting := c.waiting(); len(waiting) > 0 {
		at = rapid.SampledFrom(waiting).Draw(c.t, "approval")
	}
	nth := memory.Nth(at.Call, at.Again)
	what := rapid.IntRange(0, 19).Draw(c.t, "what")
	switch {
	case what == 0:
		c.now = c.now.Add(time.Duration(rapid.IntRange(1, 40).Draw(c.t, "minutes")) * time.Minute)
		c.add(memory.Due{})
	case what == 1:
		c.groups["group:g"] = rapid.SampledFrom([][]chat.UserID{{"bob", "dan"}, {"bob"}, {"dan", "eve"}, {"gus", "bot"}, nil}).Draw(c.t, "members")
	case what == 2:
		n := rapid.IntRange(1, 2).Draw(c.t, "revoke")
		c.does(deed{by: by, what: "revoke", number: n}, c.text(by, fmt.Sprint("revoke ", n)))
	case what == 15 && c.tool.Preview:
		c.state = rapid.IntRange(0, 2).Draw(c.t, "state")
	case what == 16:
		c.does(deed{by: by, what: "run"}, c.text(by, fmt.Sprintf(`run act {"n":%d}`, rapid.IntRange(1, 3).Draw(c.t, "n"))))
	case what < 5 || at.Call == "":
		c.does(deed{by: by, what: "go"}, c.text(by, "go on"))
	case what < 7:
		c.does(deed{by: by, what: "allow", call: nth}, c.text(by, fmt.Sprintf("allow %d %s", at.Number, rapid.SampledFrom([]string{"10m", "2x"}).Draw(c.t, "terms"))))
	case what < 9:
		c.does(deed{by: by, what: "edit", call: nth}, c.text(by, fmt.Sprintf(`edit %d {"n":%d}`, at.Number, rapid.IntRange(1, 4).Draw(c.t, "n"))))
	case what == 17:
		c.fillsIn(by, at)
	default:
		d := deed{by: by, what: rapid.SampledFrom([]string{"yes", "yes", "yes", "yes", "no", "back"}).Draw(c.t, "verdict"), call: nth}
		emoji := map[string]string{"yes": "✅", "no": "❌", "back": "✅"}[d.what]
		on := rapid.SampledFrom(c.standing(nth)).Draw(c.t, "card")
		c.does(d, memory.Reaction{Reaction: chat.Reaction{On: on, By: by, Emoji: emoji, Removed: d.what == "back"}})
	}
}

// fillsIn sends the form of a card, which may have been opened before it changed.
func (c *crowd) fillsIn(by chat.User, at memory.Asked) {
	shown := c.cards[at.Number].Digest
	d := deed{by: by, what: "edit", call: memory.Nth(at.Call, at.Again)}
	if rapid.IntRange(0, 3).Draw(c.t, "outdated") == 0 {
		d.what, shown = "outdated", strings.Repeat("0", 12)
	}
	args := fmt.Sprintf(`{"n":%d}`, rapid.IntRange(1, 4).Draw(c.t, "n"))
	c.does(d, memory.Change{Call: at.Call, By: by, Args: args, Digest: shown[:min(12, len(shown))]})
}

// standing are the cards of an approval, in the thread and elsewhere.
func (c *crowd) standing(nth string) []chat.MessageRef {
	out := []chat.MessageRef{ref(memory.AskName(nth))}
	for _, e := range c.entries {
		if p, ok := e.Body.(memory.Posted); ok && strings.HasPrefix(memory.PostName(p.Key), "copy/"+nth+"/") {
			out = append(out, p.Ref)
		}
	}
	return out
}

// waiting are the approvals that nothing has decided.
func (c *crowd) waiting() (out []memory.Asked) {
	for _, e := range c.entries {
		switch b := e.Body.(type) {
		case memory.Asked:
			out = append(out, b)
		case memory.Decided:
			out = slices.DeleteFunc(out, func(a memory.Asked) bool { return a.Call == b.Call })
		}
	}
	return out
}

// story is what the log tells of a call.
type story struct {
	call    string // as [memory.Nth] names it
	args    string
	asked   *memory.Asked
	at      time.Time // when it was asked
	from    uint64    // what came before does not count: the card was another one
	edits   []chat.UserID
	yes     bool // it was decided so
	decided uint64
	when    time.Time
	opened  uint64 // where its turn begins
	past    []story
}

// tell reads the log, for what happened and not for what was made of it.
func (c *crowd) tell() (stories map[string]*story, requester chat.UserID, turn uint64) {
	stories = map[string]*story{}
	for _, e := range c.entries {
		switch b := e.Body.(type) {
		case memory.Opened:
			requester = b.Requester.ID
		case memory.Ended:
			turn = e.Seq
		case memory.Step:
			for _, k := range b.Calls {
				stories[k.ID] = &story{args: k.Args, opened: turn}
			}
		case memory.Ran:
			stories[b.Call.ID] = &story{args: b.Call.Args, opened: turn}
		case memory.Asked:
			s := stories[b.Call]
			if old := *s; old.asked != nil {
				s.past, s.yes, s.decided = append(s.past, old), false, 0
			}
			s.call, s.asked, s.at, s.from = memory.Nth(b.Call, b.Again), &b, e.At, e.Seq
		case memory.Changed:
			if s := stories[b.Call]; b.Refused == "" {
				c.mayChange(s, b)
				s.args, s.from, s.edits = b.Args, e.Seq, append(s.edits, b.By.ID)
			}
		case memory.Decided:
			s := stories[b.Call]
			s.yes, s.decided, s.when = b.Outcome == chat.Approved, e.Seq, e.At
		}
	}
	return stories, requester, turn
}

// mayChange wants whoever changed a call to be one who asked for it or may approve it,
// and to have seen what they changed.
func (c *crowd) mayChange(s *story, b memory.Changed) {
	i := slices.IndexFunc(c.deeds, func(d deed) bool { return d.seq == b.Request })
	if i < 0 {
		c.t.Fatalf("nobody asked for the change to %s", b.Args)
	}
	d := c.deeds[i]
	asker := s.asked.Requester.ID
	if d.what != "edit" || d.by.Barred != "" || d.by.Bot || d.by.ID != asker && !c.may(d.by.ID, asker, d.members) {
		c.t.Fatalf("%s changed call %s: %s", d.by.ID, b.Call, d.what)
	}
}

// unforeseen says how a call would not do what a card said; "" where it would.
func (c *crowd) unforeseen(call memory.Call, number int) string {
	card, now := c.cards[number], c.wouldDo(call)
	switch {
	case card.Args != call.Args:
		return fmt.Sprintf("the card shows %s", card.Args)
	case !c.tool.Preview:
		return ""
	case card.Preview == nil || shownText(card.Preview) != now.Text || card.Preview.Err != now.Err:
		return fmt.Sprintf("it would do %v, and the card says %v", now, card.Preview)
	case c.tool.PreviewRequired && now.Err != "":
		return "nobody could say what it would do"
	}
	return ""
}

// shownText is what a card says that a call would do. Asked anew it shows what changed.
func shownText(p *chat.Preview) string {
	if !p.Marked {
		return p.Text
	}
	var now []string
	for line := range strings.Lines(p.Text) {
		if !strings.HasPrefix(line, "-") {
			now = append(now, strings.TrimSuffix(line, "\n")[len("+ "):])
		}
	}
	return strings.Join(now, "\n")
}

// permitted is the rule: what runs has the arguments that were last shown, and was
// approved by enough people, or allowed by enough people before.
func (c *crowd) permitted(call memory.Call) {
	stories, requester, turn := c.tell()
	s := stories[call.ID]
	if s.args != call.Args {
		c.t.Fatalf("call %s runs with %s, and %s was shown", call.ID, call.Args, s.args)
	}
	if s.asked != nil {
		c.approved(s.call, s)
		if why := c.unforeseen(call, s.asked.Number); why != "" {
			c.t.Fatalf("call %s runs with %s: %s", call.ID, call.Args, why)
		}
		return
	}
	for _, k := range stories {
		for _, one := range append(slices.Clone(k.past), *k) {
			if one.asked != nil && one.yes && one.args == call.Args && c.covered(one.call, &one, requester, turn) && c.unforeseen(call, one.asked.Number) == "" {
				return
			}
		}
	}
	c.t.Fatalf("call %s %s ran unasked for %s: %+v", call.ID, call.Args, requester, c.deeds)
}

// approved wants enough people who may, and who stand by it, and none who denied.
func (c *crowd) approved(id string, s *story) {
	switch {
	case !s.yes:
		c.t.Fatalf("call %s ran, and nobody approved it", id)
	case s.when.Sub(s.at) >= c.rules.Timeout:
		c.t.Fatalf("call %s was approved %v after it was asked", id, s.when.Sub(s.at))
	}
	for _, d := range c.deeds {
		excluded := c.rules.ExcludeRequester && c.took(d.by.ID, s, s.decided)
		if d.call == id && d.what == "no" && d.seq < s.decided && d.by.Barred == "" && !d.by.Bot && !excluded && c.may(d.by.ID, s.asked.Requester.ID, d.members) {
			c.t.Fatalf("call %s ran after %s denied it", id, d.by.ID)
		}
	}
	if yes := c.backers(id, s, "yes", "allow"); len(yes) < c.rules.Quorum {
		c.t.Fatalf("call %s ran with %v for it, of %d: %+v", id, yes, c.rules.Quorum, c.deeds)
	}
}

// backers are the people who said so of a call as it was last shown, and who may.
func (c *crowd) backers(id string, s *story, words ...string) (out []chat.UserID) {
	said := map[chat.UserID]map[string]bool{}
	last := c.groups["group:g"]
	for _, d := range c.deeds {
		if d.seq < s.decided {
			last = d.members // as it was when the last of them spoke
		}
		if d.call != id || d.seq < s.from || d.seq > s.decided {
			continue
		}
		if said[d.by.ID] == nil {
			said[d.by.ID] = map[string]bool{}
		}
		if d.what == "back" {
			said[d.by.ID] = map[string]bool{} // it takes back both: a word stands for the emoji
		} else {
			said[d.by.ID][d.what] = d.by.Barred == "" && !d.by.Bot && c.may(d.by.ID, s.asked.Requester.ID, d.members)
		}
	}
	for who, what := range said {
		spoke := slices.ContainsFunc(words, func(w string) bool { return what[w] })
		if spoke && c.may(who, s.asked.Requester.ID, last) && !(c.rules.ExcludeRequester && c.took(who, s, s.decided)) {
			out = append(out, who)
		}
	}
	return out
}

// took says whether somebody took part in what is asked: it is their request, they
// wrote into its turn, or they changed it.
func (c *crowd) took(who chat.UserID, s *story, before uint64) bool {
	if who == s.asked.Requester.ID || slices.Contains(s.edits, who) {
		return true
	}
	return c.wrote(who, c.begins(s.opened), before)
}

// begins is from where on whoever wrote is excluded: with a turn, or with the thread.
func (c *crowd) begins(turn uint64) uint64 {
	if c.rules.ExcludeThread {
		return 0
	}
	return turn
}

func (c *crowd) wrote(who chat.UserID, from, to uint64) bool {
	return slices.ContainsFunc(c.deeds, func(d deed) bool {
		return d.what == "go" && d.by.ID == who && d.seq > from && d.seq < to && !c.queued(d)
	})
}

// queued says whether something was said behind a call by hand that had to wait, or
// behind what waited there: it is not of the turn that ran.
func (c *crowd) queued(d deed) bool {
	var waited []deed
	for _, k := range c.deeds {
		if k.what != "go" && k.what != "run" || k.seq > d.seq {
			continue
		}
		behind := slices.ContainsFunc(waited, func(w deed) bool { return !c.begun(w, k.seq) })
		if k.seq == d.seq {
			return behind
		}
		if behind || k.what == "run" {
			waited = append(waited, k)
		}
	}
	return false
}

// begun says whether by then a turn was opened for what somebody said: one of its own
// for a call by hand, or one behind that.
func (c *crowd) begun(d deed, by uint64) bool {
	from := d.seq
	if d.what == "go" {
		for _, k := range c.deeds {
			if k.what == "run" && k.seq < d.seq {
				from = k.seq + 1
			}
		}
	}
	return slices.ContainsFunc(c.entries[:by], func(e memory.Entry) bool {
		b, ok := e.Body.(memory.Opened)
		return ok && b.Turn >= from
	})
}

// covered says whether what was allowed with one approval lets the call run now,
// for who asks now, by people who may still.
func (c *crowd) covered(id string, s *story, requester chat.UserID, turn uint64) bool {
	for _, d := range c.deeds {
		if d.what == "revoke" && d.number == s.asked.Number && d.seq > s.decided && d.by.Barred == "" && !d.by.Bot {
			return false
		}
	}
	n := 0
	for _, who := range c.backers(id, s, "allow") {
		if c.may(who, requester, c.groups["group:g"]) && !(c.rules.ExcludeRequester && (who == requester || c.wrote(who, c.begins(turn), uint64(len(c.entries)+1)))) {
			n++
		}
	}
	uses := 0
	for _, e := range c.entries {
		if u, ok := e.Body.(memory.Used); ok && u.Grant == s.asked.Number {
			uses++
		}
	}
	return n >= c.rules.Quorum && c.now.Sub(s.when) < c.rules.Grants.Most && uses <= c.rules.Grants.Uses
}

// may says whether somebody is among those who may approve.
func (c *crowd) may(who, requester chat.UserID, members []chat.UserID) bool {
	return slices.ContainsFunc(c.rules.Approvers, func(rule string) bool {
		_, id, _ := strings.Cut(rule, ":")
		return rule == "anyone" || rule == "requester" && who == requester || rule == "user:"+id && string(who) == id || rule == "group:g" && slices.Contains(members, who)
	})
}
