package thread

import (
	"iter"
	"slices"

	"nod/chat"
	"nod/memory"
)

// Senders lists the people whose words are in the turn, up to an entry.
func (t *Turn) Senders(seen uint64) []chat.User {
	out := []chat.User{}
	if t.Requester.ID != "" {
		out = append(out, t.Requester)
	}
	others := t.Voices
	if t.Slot != nil {
		others = slices.Concat(others, t.Slot.Others)
	}
	for _, u := range others {
		if u.ID != t.Requester.ID {
			out = append(out, u)
		}
	}
	for _, m := range t.Live() {
		if m.Seq <= seen && !(m.Aside && m.From.Bot) && !chat.Includes(out, m.From.ID) {
			out = append(out, m.From)
		}
	}
	return out
}

// DoneWith is the last entry that the turn has dealt with. Later messages wait for the
// next turn.
func (t *Turn) DoneWith() (seen uint64) {
	if d := t.Draft(); d != nil {
		seen = d.Seen
	}
	if t.Stopped != nil {
		seen = max(seen, t.Stopped.Seen)
	}
	if t.Failed != nil {
		seen = max(seen, t.Failed.Seen)
	}
	if len(t.Steps) > 0 && t.Steps[0].By != nil {
		seen = max(seen, t.ID)
	}
	return seen
}

// LastStep is the last step; nil where there is none.
func (t *Turn) LastStep() *Step {
	if len(t.Steps) == 0 {
		return nil
	}
	return t.Steps[len(t.Steps)-1]
}

// EmptyTwice says whether the last two completions held nothing at all.
func (t *Turn) EmptyTwice() bool {
	main := t.StepsOf("")
	n := len(main)
	return n > 1 && main[n-1].Empty() && main[n-2].Empty()
}

// Empty says whether the completion held neither an answer nor a call.
func (st *Step) Empty() bool { return st.Answer == "" && len(st.Calls) == 0 }

// Evaded says whether a completion held calls or reasoning instead of an answer.
func (st *Step) Evaded() bool { return st != nil && st.Empty() && (st.Called || st.Reasoned) }

// Answered says whether the turn's answer is on the platform.
func (t *Turn) Answered(s *Thread) bool { return s.Has(t.AnswerName()) || s.Has(t.ReportName()) }

// ReplyTo is the message that posts of the turn reply to.
func (t *Turn) ReplyTo() chat.MessageRef {
	for _, m := range t.Msgs {
		if !m.Aside && m.Form == nil {
			return m.Ref
		}
	}
	return t.To
}

// StepsName names the steps message.
func (t *Turn) StepsName() string { return "steps/" + t.Name }

// FoldName names the edit that folds the steps message.
func (t *Turn) FoldName() string { return t.StepsName() + "/done" }

// AnswerName names the answer.
func (t *Turn) AnswerName() string { return "answer/" + t.Name }

// ReportName names the post with the result of a call by hand.
func (t *Turn) ReportName() string { return "ran/" + t.Name }

// Eyes lists the messages of the requester by which the platform may be searched with their
// eyes, the newest first. Another try has those of the try before, and a turn that began by
// itself has none.
func (t *Turn) Eyes() (refs []chat.MessageRef) {
	for try := t; try != nil && try.Slot == nil; try = try.before {
		for _, m := range slices.Backward(try.Asked()) {
			if m.Eyes && m.From.ID == t.Requester.ID {
				refs = append(refs, m.Ref)
			}
		}
	}
	return refs
}

// TeamSearch is the name of the tool that searches the platform.
const TeamSearch = "team_search"

// Asked lists the messages of the turn that ask for something.
func (t *Turn) Asked() []*Message {
	return Without(t.Live(), func(m *Message) bool { return m.Aside })
}

// Live lists the messages of the turn that were not deleted.
func (t *Turn) Live() []*Message {
	return Without(t.Msgs, func(m *Message) bool { return m.Deleted })
}

// Without is a list without some elements. It is the list itself when nothing is dropped,
// so it is only to be read.
func Without[T any](list []T, drop func(T) bool) []T {
	if !slices.ContainsFunc(list, drop) {
		return slices.Clip(list)
	}
	return slices.DeleteFunc(slices.Clone(list), drop)
}

// first is the first element of a list that is meant; nil where there is none.
func first[T any](list []*T, meant func(*T) bool) *T {
	if i := slices.IndexFunc(list, meant); i >= 0 {
		return list[i]
	}
	return nil
}

// last is the last element of a list that is meant; nil where there is none.
func last[T any](list []*T, meant func(*T) bool) *T {
	for _, x := range slices.Backward(list) {
		if meant(x) {
			return x
		}
	}
	return nil
}

// put puts a value into a map, and makes the map where there is none.
func put[K comparable, V any](m map[K]V, key K, value V) map[K]V {
	if m == nil {
		m = map[K]V{}
	}
	m[key] = value
	return m
}

// Posts lists the names of the posts that the turn can make before its answer.
func (t *Turn) Posts() []string {
	names := []string{t.StepsName()}
	for c := range t.EachCall() {
		names = append(names, c.Posts()...)
		if c.Result != nil {
			for i := range c.Result.Artifacts {
				names = append(names, FileName(c.ID, i))
			}
		}
	}
	return names
}

// StepsOf lists the steps of a kind.
func (t *Turn) StepsOf(kind memory.StepKind) []*Step {
	return Without(t.Steps, func(st *Step) bool { return st.Phase != kind })
}

// Draft is the step with the turn's answer, as it stands; nil where there is none.
func (t *Turn) Draft() *Step {
	return last(t.Steps, func(st *Step) bool { return st.Phase == "" })
}

// Answer is the text of that answer.
func (t *Turn) Answer() string {
	if d := t.Draft(); d != nil {
		return d.Answer
	}
	return ""
}

// Spoke says whether a person wrote to the bot in the turn, or in an earlier try of it.
func (t *Turn) Spoke(who chat.UserID) bool {
	return slices.ContainsFunc(t.Msgs, func(m *Message) bool { return m.From.ID == who && !m.Aside }) ||
		chat.Includes(t.Voices, who)
}

// Acts says whether the turn has steps to show.
func (t *Turn) Acts() bool {
	return slices.ContainsFunc(t.Steps, func(st *Step) bool {
		return len(st.Calls) > 0 && !st.Refused() || st.Instead != "" || st.Phase != "" && st.By == nil
	})
}

// EachCall goes through the calls of the turn in order.
func (t *Turn) EachCall() iter.Seq[*Call] {
	return func(yield func(*Call) bool) {
		for _, st := range t.Steps {
			for _, c := range st.Calls {
				if !yield(c) {
					return
				}
			}
		}
	}
}

// callsThat lists those of the calls that are meant; none where there is no turn.
func (t *Turn) callsThat(meant func(*Call) bool) (out []*Call) {
	if t == nil {
		return nil
	}
	for c := range t.EachCall() {
		if meant(c) {
			out = append(out, c)
		}
	}
	return out
}
