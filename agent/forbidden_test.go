package agent_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"nod/agent"
	"nod/agent/approval"
	"nod/agent/do"
	"nod/agent/policy"
	"nod/agent/speak"
	"nod/agent/view"
	"nod/chat"
	"nod/llm"
	"nod/memory"
)

// deed is something that somebody did, as the test itself remembers it.
type deed struct {
	seq     uint64 // of its entry
	at      time.Time
	by      chat.User
	call    string // whose card it is about, as [memory.Nth] names it; for run: that it is made of, by its id
	what    string // yes, no, back, allow, revoke, go, run, edit, outdated
	number  int    // of what is revoked
	args    string // that are to run
	way     chat.Way
	members []chat.UserID
	gone    map[chat.UserID]string // accounts that may not decide
}

// crowd is a thread in which anybody does anything.
type crowd struct {
	*sim
	t     *rapid.T
	rules memory.Rules
	act   policy.Tool // always asks; send asks once the model was shown what strangers wrote
	state int         // of the world that a preview tells of; 0: none can be made
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

// People speak, run calls by hand, edit and repeat them, vote on cards here and
// elsewhere, in time and too late, take votes back, change, allow, revoke and deny.
// They do so by hand, by a click, by a word and by a code, of which each rule takes some. They join and
// leave groups, lose accounts and get them back, previews change, strangers write in the prompt, and
// processes die. Nothing runs that the rules forbid, as forbidden_rules_test.go states
// them a second time. `make long` plays 10⁵ of these, and `make mutants` takes the
// rules away one by one.
func TestNothingForbiddenRuns(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := newCrowd(t)
		c.plays()
		for id, n := range c.ran {
			if n > 1 {
				t.Fatalf("call %s ran %d times", id, n)
			}
		}
	})
}

func newCrowd(t *rapid.T) *crowd {
	rules := memory.Rules{
		Approvers:        rapid.SampledFrom([][]string{{"requester"}, {"anyone"}, {"user:bob", "user:dan", "user:gus"}, {"group:g"}, {"requester", "group:g"}}).Draw(t, "approvers"),
		Quorum:           rapid.IntRange(1, 2).Draw(t, "quorum"),
		ExcludeRequester: rapid.Bool().Draw(t, "exclude"),
		ExcludeThread:    rapid.Bool().Draw(t, "exclude all"),
		Timeout:          time.Hour, Approve: []string{"✅"}, Deny: []string{"❌"},
		By:     rapid.SampledFrom([][]chat.Way{nil, nil, {chat.ByButton}, {chat.ByButton, chat.ByWord}, {chat.ByReaction}, {chat.ByWord}, {chat.ByCode}, {chat.ByCode}}).Draw(t, "by"),
		Grants: memory.Grants{Most: 30 * time.Minute, Uses: 2},
		Direct: rapid.IntRange(0, 3).Draw(t, "direct") == 0,
	}
	rules.ExcludeThread = rules.ExcludeThread && rules.ExcludeRequester
	act := newTool("act", policy.Ask, rules)
	act.Preview = rapid.Bool().Draw(t, "preview")
	act.PreviewRequired = act.Preview && rapid.Bool().Draw(t, "required")
	read := newTool("read", policy.Auto, memory.Rules{})
	read.Outside = true
	a := &agent.Agent{
		Protocol: speak.NativeTools{}, MaxSteps: 3, Count: func(s string) int { return len(s) }, Taint: true,
		Tools: []policy.Tool{act, newTool("send", policy.Auto, rules), read},
	}
	c := &crowd{sim: newSim(a), t: t, rules: rules, act: act, state: 1}
	c.would = c.wouldDo
	c.groups["group:g"] = []chat.UserID{"bob", "dan"}
	c.model = c.thinks
	c.check = c.permitted
	c.crash = func() bool { return rapid.IntRange(0, 9).Draw(t, "crash") == 0 }
	return c
}

// plays lets anybody do anything, and the thread come to rest after each.
func (c *crowd) plays() {
	for range rapid.IntRange(1, 20).Draw(c.t, "events") {
		c.now = c.now.Add(time.Second)
		c.happens()
		c.run()
	}
}

// thinks is the model, which calls whatever it likes, now and then again.
func (c *crowd) thinks(req llm.Request) llm.Response {
	odds := 1
	if req.Messages[len(req.Messages)-1].Role == llm.ToolRole {
		odds = 3
	}
	if rapid.IntRange(1, odds).Draw(c.t, "over") > 1 {
		return llm.Response{Text: "over"}
	}
	calls := []llm.Call{{ID: "a", Name: "act", Args: `{"n":1}`}, {ID: "b", Name: "act", Args: `{"n":2}`}}
	switch rapid.IntRange(0, 9).Draw(c.t, "tool") {
	case 0:
		return llm.Response{Calls: []llm.Call{{ID: "a", Name: "read", Args: `{}`}}}
	case 1:
		calls[0].Name = "send"
	}
	return llm.Response{Calls: calls[:rapid.IntRange(1, 2).Draw(c.t, "calls")]}
}

// does notes a deed, and has its entry in the log.
func (c *crowd) does(d deed, b memory.Body) {
	d.seq, d.at = uint64(len(c.entries)+1), c.now
	d.members, d.gone = c.groups["group:g"], c.barred
	if _, said := b.(memory.Message); said && d.by.Bot {
		d.what, d.call = "go", "" // it is no word
	}
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
	if call.Tool != c.act.Name {
		return chat.Preview{}
	}
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
	what := rapid.IntRange(0, 23).Draw(c.t, "what")
	switch {
	case what == 0:
		c.now = c.now.Add(time.Duration(rapid.IntRange(1, 40).Draw(c.t, "minutes")) * time.Minute)
		c.add(memory.Due{})
	case what == 1:
		c.groups["group:g"] = rapid.SampledFrom([][]chat.UserID{{"bob", "dan"}, {"bob"}, {"dan", "eve"}, {"gus", "bot"}, nil}).Draw(c.t, "members")
	case what == 2:
		n := rapid.IntRange(1, 2).Draw(c.t, "revoke")
		c.does(deed{by: by, what: "revoke", number: n}, c.text(by, fmt.Sprint("revoke ", n)))
	case what == 15 && c.act.Preview:
		c.state = rapid.IntRange(0, 2).Draw(c.t, "state")
	case what == 16:
		args := c.draws(3)
		c.does(deed{by: by, what: "run", args: args}, c.text(by, "run act "+args))
	case what == 20:
		args, n := c.draws(4), rapid.IntRange(1, 2).Draw(c.t, "nth")
		c.does(deed{by: by, what: "run", args: args}, c.text(by, fmt.Sprint("run ", n, " ", args)))
	case what == 21:
		c.runsAgain(by)
	case what == 23:
		c.barred = rapid.SampledFrom([]map[chat.UserID]string{nil, {"bob": "gone"}, {"ada": "gone", "dan": "gone"}}).Draw(c.t, "gone")
	case what == 22:
		for _, on := range c.answers() {
			c.add(memory.Reaction{Reaction: chat.Reaction{On: on, By: by, Emoji: chat.EmojiRetry}})
		}
	case what < 5 || at.Call == "":
		c.does(deed{by: by, what: "go"}, c.text(by, "go on"))
	case what < 7:
		c.does(deed{by: by, what: "allow", call: nth, way: chat.ByWord}, c.text(by, fmt.Sprintf("allow %d %s", at.Number, rapid.SampledFrom([]string{"10m", "2x"}).Draw(c.t, "terms"))))
	case what < 9:
		c.passes("before the edit")
		args := c.draws(4)
		c.does(deed{by: by, what: "edit", call: nth, args: args}, c.text(by, fmt.Sprintf("edit %d %s", at.Number, args)))
		if c.takes() && rapid.Bool().Draw(c.t, "at once") { // before the card shows it
			c.votes(rapid.SampledFrom(folk).Draw(c.t, "who votes"), at)
		}
	case what == 17:
		c.fillsIn(by, at)
	default:
		c.passes("before the vote")
		c.votes(by, at)
		c.passes("until it is looked at")
	}
}

// votes puts a reaction on a card of an approval, or takes it back. Of one that was
// asked anew the card may be the earlier one.
func (c *crowd) votes(by chat.User, at memory.Asked) {
	nth := memory.Nth(at.Call, at.Again)
	if at.Again > 0 && rapid.Bool().Draw(c.t, "the earlier card") {
		nth = memory.Nth(at.Call, at.Again-1)
	}
	d := deed{by: by, what: rapid.SampledFrom([]string{"yes", "yes", "yes", "yes", "no", "back"}).Draw(c.t, "verdict"), call: nth}
	emoji := map[string]string{"yes": "✅", "no": "❌", "back": "✅"}[d.what]
	d.way = rapid.SampledFrom([]chat.Way{chat.ByReaction, chat.ByReaction, chat.ByButton, chat.ByWord, chat.ByCode}).Draw(c.t, "way")
	if d.way == chat.ByCode && d.what == "yes" {
		c.codes(d, at)
		return
	}
	if d.what == "back" {
		d.way = chat.ByReaction
	}
	if d.way == chat.ByWord {
		d.call = memory.Nth(at.Call, at.Again)
		c.does(d, c.text(by, fmt.Sprintf("%c %d", map[string]rune{"yes": 'y', "no": 'n'}[d.what], at.Number)))
		return
	}
	on := rapid.SampledFrom(c.standing(nth)).Draw(c.t, "card")
	c.does(d, memory.Reaction{Reaction: chat.Reaction{On: on, By: by, Emoji: emoji, Removed: d.what == "back", Button: d.way == chat.ByButton, Way: d.way}})
}

// codes sends the right code with a form that was opened on a card, which may have changed
// since. Where it is of another card it is put as a code of this one.
func (c *crowd) codes(d deed, at memory.Asked) {
	form := chat.Code{Call: at.Call, By: d.by, Digest: c.cards[at.Number].Digest}
	r, why := approval.Coded(c.entries, form)
	if d.call = memory.Nth(at.Call, at.Again); why != "" {
		return // what it was for is over
	}
	if len(c.cards) > 1 && rapid.IntRange(0, 3).Draw(c.t, "another card's") == 0 {
		if r.Digest = c.cards[rapid.IntRange(1, len(c.cards)).Draw(c.t, "of")].Digest; r.Digest == form.Digest {
			return
		}
	}
	if rapid.IntRange(0, 2).Draw(c.t, "between") == 0 {
		c.fillsIn(rapid.SampledFrom(folk).Draw(c.t, "who changes it"), at)
		c.run()
	}
	if c.cards[at.Number].Digest != r.Digest { // by a change between they may be the same arguments
		d.what = "outdated"
	}
	c.does(d, r)
}

// takes goes on until the change that was asked for is taken, or refused; ok is false
// where that comes to nothing.
func (c *crowd) takes() (ok bool) {
	for range 10 {
		act := c.agent.Next(c.log())
		if _, waits := act.(do.Wait); waits {
			return false
		}
		c.perform(act)
		if _, ok := c.entries[len(c.entries)-1].Body.(memory.Changed); ok {
			return true
		}
	}
	return false
}

// passes lets time pass now and then, while nobody looks.
func (c *crowd) passes(what string) {
	if rapid.IntRange(1, 6).Draw(c.t, "time passes") == 1 {
		c.now = c.now.Add(time.Duration(rapid.IntRange(1, 70).Draw(c.t, what)) * time.Minute)
	}
}

func (c *crowd) draws(most int) string {
	return fmt.Sprintf(`{"n":%d}`, rapid.IntRange(1, most).Draw(c.t, "n"))
}

// runsAgain sends the form in which a call can be edited that was made once, whatever
// became of its thread since the form was opened. A bot's is not taken.
func (c *crowd) runsAgain(by chat.User) {
	var made []memory.Call
	for _, e := range c.entries {
		switch b := e.Body.(type) {
		case memory.Step:
			made = append(made, b.Calls...)
		case memory.Ran:
			made = append(made, b.Call)
		}
	}
	if len(made) == 0 {
		return
	}
	of := made[len(made)-rapid.IntRange(1, min(4, len(made))).Draw(c.t, "from the end")]
	d := deed{by: by, what: "run", call: of.ID, args: c.draws(4)}
	if by.Bot {
		if b, why := view.Reruns(c.agent.Tools, c.entries, chat.Change{Call: of.ID, By: by, Args: d.args}); why == "" {
			c.t.Fatalf("a bot's form is taken: %+v", b)
		}
		return
	}
	c.does(d, memory.Order{By: by, Tool: of.Tool, Args: d.args, Of: of.ID})
}

// fillsIn sends the form of a card, which may have been opened before it changed.
func (c *crowd) fillsIn(by chat.User, at memory.Asked) {
	shown := c.cards[at.Number].Digest
	d := deed{by: by, what: "edit", call: memory.Nth(at.Call, at.Again)}
	if rapid.IntRange(0, 3).Draw(c.t, "outdated") == 0 {
		d.what, shown = "outdated", strings.Repeat("0", 12)
	}
	d.args = c.draws(4)
	c.does(d, memory.Change{Call: at.Call, By: by, Args: d.args, Digest: shown[:min(12, len(shown))]})
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
