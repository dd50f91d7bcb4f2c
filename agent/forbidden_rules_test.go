package agent_test

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"nod/chat"
	"nod/memory"
)

// story is what the log tells of a call.
type story struct {
	call    string // as [memory.Nth] names it
	tool    string
	args    string
	asked   *memory.Asked
	at      time.Time // when it was asked
	made    uint64    // where it was written
	from    uint64    // what came before does not count: the card was another one
	edits   []chat.UserID
	byHand  bool
	yes     bool // it was decided so
	decided uint64
	when    time.Time
	turn    *told
	past    []story
}

// does is what the call comes to, whoever made it.
func (s *story) does() string { return s.tool + " " + s.args }

// told is what the log tells of a turn.
type told struct {
	requester chat.UserID
	begins    uint64            // of another try: where the first one begins
	voices    []chat.UserID     // of those before it
	instead   []string          // what people made something else of, in those that it goes on from
	changed   map[string]uint64 // the same in itself, and where
	again     *told
	from      string // the call that it goes on from, by its id
	failed    bool   // it is a call by hand that could not even be asked for
}

// tale is all that the log tells.
type tale struct {
	stories map[string]*story
	turns   []*told
	tainted uint64 // from where on the model was shown what strangers wrote; 0: it was not
}

// turn is the newest one.
func (k *tale) turn() *told { return k.turns[len(k.turns)-1] }

// tell reads the log, for what happened and not for what was made of it.
func (c *crowd) tell() *tale {
	k := &tale{stories: map[string]*story{}}
	ended := uint64(0)
	named := map[uint64]*told{}
	for _, e := range c.entries {
		switch b := e.Body.(type) {
		case memory.Opened:
			t := &told{requester: b.Requester.ID, begins: ended, changed: map[string]uint64{}}
			if t.again = named[b.Again]; t.again != nil {
				t.begins, t.voices = t.again.begins, append(slices.Clone(t.again.voices), t.again.requester)
			}
			if b.From != "" {
				t.from = b.From
				c.mayGoOn(k, k.stories[b.From], t)
			}
			named[b.Turn], k.turns = t, append(k.turns, t)
		case memory.Ended:
			ended = e.Seq
		case memory.Step:
			for _, call := range b.Calls {
				k.stories[call.ID] = &story{tool: call.Tool, args: call.Args, made: e.Seq, turn: k.turn()}
			}
		case memory.Ran:
			k.stories[b.Call.ID] = &story{tool: b.Call.Tool, args: b.Call.Args, made: e.Seq, turn: k.turn(), byHand: true}
			c.mayRun(k, b)
		case memory.Result:
			s := k.stories[b.Call]
			s.turn.failed = s.byHand && s.asked == nil && b.State == chat.CallFailed
			if b.Tool == "read" && b.State == chat.CallDone && k.tainted == 0 {
				k.tainted = e.Seq
			}
		default:
			c.tellOfCard(k, e)
		}
	}
	return k
}

// tellOfCard reads what was asked, and what people made of it.
func (c *crowd) tellOfCard(k *tale, e memory.Entry) {
	switch b := e.Body.(type) {
	case memory.Asked:
		s := k.stories[b.Call]
		if b.Requester.ID != s.turn.requester {
			c.t.Fatalf("call %s is asked for %s, and %s wants it", b.Call, b.Requester.ID, s.turn.requester)
		}
		if old := *s; old.asked != nil {
			s.past, s.yes, s.decided = append(s.past, old), false, 0
		}
		s.call, s.asked, s.at, s.from = memory.Nth(b.Call, b.Again), &b, e.At, e.Seq
	case memory.Changed:
		if s := k.stories[b.Call]; b.Refused == "" {
			c.mayChange(s, b)
			s.turn.changed[s.does()] = e.Seq
			s.args, s.from, s.edits = b.Args, e.Seq, append(s.edits, b.By.ID)
		}
	case memory.Decided:
		s := k.stories[b.Call]
		s.yes, s.decided, s.when = b.Outcome == chat.Approved, e.Seq, e.At
	}
}

// mayChange wants whoever changed a call to be one who asked for it or may approve it,
// to have seen what they changed, and to have come in time.
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
	if d.args != b.Args || !c.inTime(d, s) {
		c.t.Fatalf("call %s was changed to %s by %+v", b.Call, b.Args, d)
	}
}

// inTime says whether somebody acted while the card said that they might.
func (c *crowd) inTime(d deed, s *story) bool { return d.at.Sub(s.at) < c.rules.Timeout }

// mayRun wants a call by hand to be one that a person made, as they made it.
func (c *crowd) mayRun(k *tale, b memory.Ran) {
	t := k.turn()
	fits := func(d deed) bool {
		return d.seq == b.Turn && d.what == "run" && d.by.ID == b.By.ID && d.by.ID == t.requester && d.args == b.Call.Args &&
			(d.call == "" || t.from == "" || d.call == t.from) && (t.from == "" || k.stories[t.from].tool == b.Call.Tool)
	}
	if !slices.ContainsFunc(c.deeds, fits) {
		c.t.Fatalf("%s ran %s for %s, and nobody wanted it: %+v", b.By.ID, b.Call.Args, t.requester, c.deeds)
	}
}

// mayGoOn wants that a turn goes on from a call of one that is over, and that nothing
// newer was asked since.
func (c *crowd) mayGoOn(k *tale, from *story, t *told) {
	t.instead = append(slices.Clone(from.turn.instead), from.does())
	for what := range from.turn.changed {
		t.instead = append(t.instead, what)
	}
	for u := t.again; u != from.turn; u = u.again {
		if u == nil {
			c.t.Fatalf("a turn goes on from %s, which is of none that it is a try of", from.args)
		}
	}
	for _, u := range slices.Backward(k.turns) {
		if u == t.again {
			return
		}
		if !u.failed {
			c.t.Fatalf("a turn goes on from %s, and something newer was asked", from.args)
		}
	}
}

// unforeseen says how a call would not do what a card said; "" where it would.
func (c *crowd) unforeseen(call memory.Call, number int) string {
	card, now := c.cards[number], c.wouldDo(call)
	switch {
	case card.Args != call.Args:
		return fmt.Sprintf("the card shows %s", card.Args)
	case !c.act.Preview || call.Tool != c.act.Name:
		return ""
	case card.Preview == nil || shownText(card.Preview) != now.Text || card.Preview.Err != now.Err:
		return fmt.Sprintf("it would do %v, and the card says %v", now, card.Preview)
	case c.act.PreviewRequired && now.Err != "":
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
// approved by enough people, or allowed by enough people before. People's changes are
// not taken back by the model.
func (c *crowd) permitted(call memory.Call) {
	k := c.tell()
	s := k.stories[call.ID]
	if s.args != call.Args {
		c.t.Fatalf("call %s runs with %s, and %s was shown", call.ID, call.Args, s.args)
	}
	c.notReplaced(k, call.ID, s)
	if s.asked != nil {
		c.approved(s.call, s)
		if why := c.unforeseen(call, s.asked.Number); why != "" {
			c.t.Fatalf("call %s runs with %s: %s", call.ID, call.Args, why)
		}
		return
	}
	if k.tainted > 0 && k.tainted < s.made {
		c.t.Fatalf("call %s ran unasked, and the model had been shown what strangers wrote", call.ID)
	}
	if call.Tool == "send" {
		return
	}
	for _, other := range k.stories {
		for _, one := range append(slices.Clone(other.past), *other) {
			if one.asked != nil && one.yes && one.does() == s.does() && c.covered(one.call, &one, k.turn()) && c.unforeseen(call, one.asked.Number) == "" {
				return
			}
		}
	}
	c.t.Fatalf("call %s %s ran unasked for %s: %+v", call.ID, call.Args, k.turn().requester, c.deeds)
}

// notReplaced wants that the model does not call again for what people made something
// else of, in this turn or in what it goes on from. What they say themselves counts.
func (c *crowd) notReplaced(k *tale, id string, s *story) {
	if s.byHand || len(s.edits) > 0 {
		return
	}
	if at := s.turn.changed[s.does()]; at > 0 && at < s.made || slices.Contains(s.turn.instead, s.does()) && !began(k, s) {
		c.t.Fatalf("call %s brings %s back, which people had changed", id, s.does())
	}
}

// began says whether the call that the turn began with was just this one.
func began(k *tale, s *story) bool {
	for _, first := range k.stories {
		if first.turn == s.turn && first.byHand && first.does() == s.does() {
			return true
		}
	}
	return false
}

// approved wants enough people who may, and who stand by it, and none who denied.
func (c *crowd) approved(id string, s *story) {
	if !s.yes {
		c.t.Fatalf("call %s ran, and nobody approved it", id)
	}
	for _, d := range c.deeds {
		excluded := c.rules.ExcludeRequester && c.took(d.by.ID, s, s.decided)
		if d.call == id && d.what == "no" && d.seq < s.decided && c.inTime(d, s) && d.by.Barred == "" && d.gone[d.by.ID] == "" && !d.by.Bot && !excluded && c.may(d.by.ID, s.asked.Requester.ID, d.members) {
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
	last, gone := c.groups["group:g"], c.barred
	for _, d := range c.deeds {
		if d.seq < s.decided {
			last, gone = d.members, d.gone // as it was when the last of them spoke
		}
		if d.call != id || d.seq < s.from || d.seq > s.decided || !c.inTime(d, s) {
			continue
		}
		if said[d.by.ID] == nil {
			said[d.by.ID] = map[string]bool{}
		}
		if d.what == "back" {
			said[d.by.ID] = map[string]bool{} // it takes back both: a word stands for the emoji
		} else if !said[d.by.ID][d.what] { // one that does not count takes none back
			said[d.by.ID][d.what] = d.way.Approves(c.rules.By) && d.gone[d.by.ID] == "" && d.by.Barred == "" && !d.by.Bot && c.may(d.by.ID, s.asked.Requester.ID, d.members)
		}
	}
	for who, what := range said {
		spoke := slices.ContainsFunc(words, func(w string) bool { return what[w] })
		if spoke && gone[who] == "" && c.may(who, s.asked.Requester.ID, last) && !(c.rules.ExcludeRequester && c.took(who, s, s.decided)) {
			out = append(out, who)
		}
	}
	return out
}

// took says whether somebody took part in what is asked: it is their request, they
// wrote into its turn, or they changed it.
func (c *crowd) took(who chat.UserID, s *story, before uint64) bool {
	return slices.Contains(s.edits, who) || c.speaks(who, s.turn, before)
}

// speaks says whether a turn is somebody's, or holds what they said.
func (c *crowd) speaks(who chat.UserID, t *told, before uint64) bool {
	return who == t.requester || slices.Contains(t.voices, who) || c.wrote(who, c.begins(t.begins), before)
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
func (c *crowd) covered(id string, s *story, t *told) bool {
	for _, d := range c.deeds {
		if d.what == "revoke" && d.number == s.asked.Number && d.seq > s.decided && d.by.Barred == "" && !d.by.Bot {
			return false
		}
	}
	n := 0
	for _, who := range c.backers(id, s, "allow") {
		if c.may(who, t.requester, c.groups["group:g"]) && !(c.rules.ExcludeRequester && c.speaks(who, t, uint64(len(c.entries)+1))) {
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
