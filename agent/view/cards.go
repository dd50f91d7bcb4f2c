// Package view says what people see of a thread: cards, steps, answers, the history. A
// view is a function of the log, so a platform can draw it again at any time.
package view

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"nod/agent/approval"
	"nod/agent/phrase"
	"nod/agent/speak"
	"nod/agent/taint"
	"nod/agent/thread"
	"nod/chat"
	"nod/llm/args"
	"nod/memory"
)

// The form in which people change a call is made of its card. The change is judged twice:
// at once, so that the open form can say what is wrong, and then like every change, by the
// process that holds the thread.

// Card is the post of an approval, with what people may do about it.
func Card(w taint.Watch, c *thread.Call) chat.Post {
	p := plainCard(w.Thread, c)
	offer(w, c, p.Approval)
	return p
}

// CardElsewhere is the same for another place.
func CardElsewhere(w taint.Watch, c *thread.Call, place string) chat.Post {
	p := plainCard(w.Thread, c)
	card := c.Card.Ref
	if card.IsZero() {
		card = p.ReplyTo
	}
	p.ReplyTo, p.Approval = chat.MessageRef{}, Elsewhere(w.Thread, c, place)
	p.Approval.Card = card
	offer(w, c, p.Approval)
	return p
}

// Elsewhere is the view of an approval in another place.
func Elsewhere(s *thread.Thread, c *thread.Call, place string) *chat.Approval {
	v := Approval(s, c)
	v.Elsewhere = true
	if thread.IsDirect(place) {
		discreet(&v, c)
	}
	return &v
}

// offer adds what people may do about a waiting call. A call with content from outside
// gets no button that allows it for a while: people look at each such call.
func offer(w taint.Watch, c *thread.Call, v *chat.Approval) {
	if c.Decided != nil {
		return
	}
	tool, _ := w.Tools.Find(c.Tool)
	v.Parameters = string(tool.Parameters)
	if w.OfCall(c).Source == "" {
		v.Grant = c.Asked.Rules.Grants.Most
	}
}

// plainCard is the post of an approval, without that.
func plainCard(s *thread.Thread, c *thread.Call) chat.Post {
	view := Approval(s, c)
	return chat.Post{Key: memory.PostKey(c.AskName(), c.Asked.Digest), ReplyTo: c.Turn.ReplyTo(), Approval: &view}
}

// Approval is the view of a call's approval.
func Approval(s *thread.Thread, c *thread.Call) chat.Approval {
	r := c.Asked.Rules
	v := chat.Approval{
		Call: c.ID, Tool: c.Tool, Args: c.Shown(), Digest: c.Asked.Digest,
		Requester: c.Asked.Requester, Approvers: c.MayNow(), Quorum: r.Quorum,
		Approve: r.Approve, Deny: r.Deny, Ways: r.By, Deadline: c.Deadline(), Why: c.Asked.Why, Marks: c.Asked.Marks,
	}
	if c.Tool == thread.ScheduleTool {
		v.Why = strings.TrimSpace(planLine(c) + " " + v.Why)
	}
	v.Quiet = r.Quiet
	if c.Clocks.Escalated.Seq > 0 {
		v.Unheeded = r.Escalate.After
	}
	v.Exclude = approval.Excluded(c)
	for i, u := range v.Exclude {
		if u.Name == "" {
			v.Exclude[i] = s.Person(u.ID)
		}
	}
	if v.Editors = c.Editors(); len(v.Editors) > 0 {
		v.Was = string(args.Canonical(json.RawMessage(c.Wrote())))
	}
	v.Number, v.By = c.Asked.Number, approval.SoFar(c)
	if c.Decided != nil {
		v.Outcome, v.By = c.Decided.Outcome, c.Decided.By
		if c.Dropped() {
			v.Outcome, v.By = chat.Cancelled, nil
		}
		if c.Decided.Reason != "" {
			v.Why = c.Decided.Reason
		}
		if r := c.Reason(); r != nil {
			v.Reason = r.Text
		}
	}
	v.Headline, v.Preview = headline(c), previewOf(c)
	return v
}

// headline is the first line of a card.
func headline(c *thread.Call) string {
	if c.Decided == nil {
		return fmt.Sprintf("Approval %d: %s", c.Asked.Number, c.Tool)
	}
	if c.Dropped() {
		return strings.TrimSuffix(string(chat.Cancelled)+" · "+phrase.Why(c), " · ")
	}
	text := string(c.Decided.Outcome)
	decided := c.Decided.Outcome == chat.Approved || c.Decided.Outcome == chat.Denied
	if by := chat.Names(c.Decided.By); by != "" && decided {
		text += " by " + by
	}
	if c.Ask.Redone > 0 {
		return fmt.Sprintf("%s · %s, asked again as approval %d", text, redoneSince(c), c.Ask.Redone)
	}
	switch r := c.Reason(); {
	case c.Decided.Outcome == chat.Approved:
		return text + " · " + phrase.Fate(c)
	case c.Decided.Outcome == chat.Denied && r != nil && r.Text != "":
		return text + ": " + r.Text
	}
	return text
}

func redoneSince(c *thread.Call) string {
	switch {
	case c.Ask.Older:
		return "I was restored from an older copy"
	case c.Ask.Lax:
		return "the rules became stricter"
	case c.Ask.Redefined:
		return "the tool changed"
	case c.Preview.Outdated:
		return "the preview changed"
	}
	return "not begun for " + phrase.Long(c.Asked.Rules.RunWithin)
}

// discreet leaves out what a card tells of the conversation, since people who get it
// directly may have no part in that. It still says that no person wrote a value.
func discreet(v *chat.Approval, c *thread.Call) {
	v.Direct, v.Quiet = true, true
	if v.Why != "" && v.Why == c.Asked.Why {
		v.Why = textOutside
	}
	var marks []string
	for _, m := range v.Marks {
		if name, _, ok := strings.Cut(m, ": from "); ok {
			m = name + ": not from a person"
		}
		marks = append(marks, m)
	}
	v.Marks = marks
}

// textOutside is why a call is asked for, without the source.
const textOutside = "The turn holds content from outside, so it asks."

// Stage names how far a card has to show the call; "" while it waits. where is "" for the
// card in the thread, or else the place.
func Stage(s *thread.Thread, c *thread.Call, where string) string {
	key := "outcome/" + c.Nth()
	switch {
	case c.Card.Shows != "" || c.Ask.Older && c.Card.Ref.IsZero(): // nobody knows what it shows
		return ""
	case c.Ask.Redone > 0:
		return key + "/again" + where
	case c.Pending() && c.Clocks.Escalated.Seq > 0 && !s.Has(c.WidenedName()+where):
		return c.WidenedName() + where
	case c.Pending() && len(c.Edits.Made) > 0 && !s.Has(c.RedrawnName()+where):
		return c.RedrawnName() + where
	case voting(c):
		return votesName(c) + where
	case c.Decided == nil:
		return ""
	case c.Run.Late != nil:
		return key + "/corrected" + where
	case c.Result != nil || c.TurnedDown() && c.Reason() == nil:
		return key + "/done" + where
	case c.Reason() != nil:
		return key + "/why" + where
	}
	return key + "/running" + where
}

// voting says whether people voted, and others still have to. A vote that decides is not
// drawn apart from the outcome.
func voting(c *thread.Call) bool {
	outcome, _ := approval.Tally(c)
	return c.Pending() && len(c.Votes.Given) > 0 && outcome == ""
}

// votesName names the edit by which a card shows who approved so far. People who wrote
// into the turn since may not count any more.
func votesName(c *thread.Call) string {
	return fmt.Sprintf("votes/%s/%d.%d.%d", c.Nth(), len(c.Edits.Made), len(c.Votes.Given), len(approval.SoFar(c)))
}

// MostPreview is how much of a preview a card shows, in bytes. A longer one goes along as
// a file.
const MostPreview = 1200

// previewOf is the preview as a card shows it.
func previewOf(c *thread.Call) *chat.Preview {
	if c.Preview.Bound == nil {
		return nil
	}
	v := &chat.Preview{Text: c.Preview.Bound.Text, Err: c.Preview.Bound.Err}
	if n := len(c.Ask.Past); n > 0 && c.Ask.Past[n-1].Preview.Outdated && c.Ask.Past[n-1].Preview.Bound != nil {
		v.Text, v.Marked = difference(c.Ask.Past[n-1].Preview.Bound.Text, c.Preview.Bound.Text), true
	}
	rest := ""
	if len(v.Text) > MostPreview {
		rest = fmt.Sprintf("\n[… that is not all of it: it has %d characters", utf8.RuneCountInString(c.Preview.Bound.Text))
		if c.Preview.Bound.File.Blob != "" {
			rest += "; " + PreviewFile(c).Name + " has them"
		}
		rest += "]"
	}
	v.Text = speak.Clip(v.Text, MostPreview) + rest
	return v
}

// PreviewFile is a preview that is too long for a card.
func PreviewFile(c *thread.Call) chat.File {
	f := c.Preview.Bound.File
	f.Name = fmt.Sprintf("preview-%d.txt", c.Asked.Number)
	return f
}

// planLine says in plain words what a call schedules, and the next three times.
func planLine(c *thread.Call) string {
	p, err := c.Planned("", time.Time{})
	if err != nil {
		return ""
	}
	does := "asks"
	if p.Remind {
		does = "reminds"
	}
	if !p.Repeats() {
		return fmt.Sprintf("It %s %s.", does, p.Line(c.Ask.At))
	}
	return fmt.Sprintf("It %s %s: %s.", does, p.Time.String(), strings.Join(p.Coming(c.Ask.At, 3), ", "))
}
