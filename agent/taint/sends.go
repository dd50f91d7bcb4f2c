package taint

import (
	"encoding/json"
	"slices"
	"strings"

	"nod/agent/policy"
	"nod/agent/thread"
	"nod/chat"
)

// An address can carry words of the thread to a stranger, and so can a choice among
// addresses of a stranger. So in a tainted turn a call goes unasked only where a person
// sent it. `fetch` may also go to results of a search, and to two addresses a turn that
// only other content named: it would be of little use else.

// freeFetches is how many addresses of a turn are fetched unasked that only other content
// named.
const freeFetches = 2

// goesWhereTold says whether a call that changes nothing sends values only where a tainted
// turn may send them unasked.
func (w Watch) goesWhereTold(tool policy.Tool, c *thread.Call) bool {
	_, strange := w.unwritten(tool, c)
	return !strange && (tool.Address == "" || w.mayFetch(tool, c))
}

// unwritten is the first parameter by which a call sends values that no person wrote.
func (w Watch) unwritten(tool policy.Tool, c *thread.Call) (name string, ok bool) {
	for _, name := range tool.Sending(c.Args) {
		values, all := tool.Sent(c.Args, name)
		if !all || slices.ContainsFunc(values, func(v string) bool { return !w.personWrote(v) }) {
			return name, true
		}
	}
	return "", false
}

func (w Watch) personWrote(value string) bool {
	return value != "" && slices.ContainsFunc(w.personTexts(), func(text string) bool { return holds(text, value) })
}

// personTexts lists the texts of people in the prompt. Anybody's words may be in those of
// a bot.
func (w Watch) personTexts() []string {
	var out []string
	for _, t := range w.Thread.Shown(w.Thread.Trim) {
		for _, m := range t.Live() {
			if !m.From.Bot && !m.Outside && !m.Drawn && m.Form == nil && !w.strangeNow(m) { // most of a form was there before
				out = append(out, m.Text)
			}
		}
	}
	return out
}

// strangeNow says whether somebody else wrote a message since the schedule was made by which
// the turn began.
func (w Watch) strangeNow(m *thread.Message) bool {
	t := w.Thread.Open
	return t != nil && t.Slot != nil && m.Since(&t.Slot.Slot)
}

// namedBy says who named an address.
type namedBy int

const (
	byNobody namedBy = iota
	byContent
	byTrusted // a person, or the list of a search
)

// mayFetch says whether an address may be opened unasked.
func (w Watch) mayFetch(tool policy.Tool, c *thread.Call) bool {
	to := addressOf(c, tool)
	switch w.whoNamed(to) {
	case byTrusted:
		return true
	case byContent:
		at := slices.Index(w.strange(tool, c), to)
		return at >= 0 && at < freeFetches
	}
	return false
}

// strange lists the addresses of a turn, up to a call, that only other content named, each
// once.
func (w Watch) strange(tool policy.Tool, upTo *thread.Call) []string {
	var out []string
	for c := range upTo.Turn.EachCall() {
		to := ""
		if c.Tool == tool.Name {
			to = addressOf(c, tool)
		}
		if to != "" && !slices.Contains(out, to) && w.whoNamed(to) == byContent {
			out = append(out, to)
		}
		if c == upTo {
			return out
		}
	}
	return out
}

// addressOf is the address that a call goes to; empty when it names none.
func addressOf(c *thread.Call, tool policy.Tool) string {
	if tool.Address == "" {
		return ""
	}
	var named map[string]any
	if json.Unmarshal([]byte(c.Args), &named) != nil {
		return ""
	}
	to, _ := named[tool.Address].(string)
	return to
}

// whoNamed says who named an address. One that the model wrote before some content named
// it is the model's: else any tool that repeats its input would launder it.
func (w Watch) whoNamed(address string) namedBy {
	if address == "" {
		return byNobody
	}
	if slices.ContainsFunc(w.personTexts(), func(text string) bool { return personNamed(text, address) }) {
		return byTrusted
	}
	best := byNobody
	for _, t := range w.Thread.Shown(w.Thread.Trim) {
		for _, m := range t.Live() {
			if carriesAddress(m, address) && !w.modelWrote(address, m.Seq) {
				best = max(best, byContent)
			}
		}
		for c := range t.EachCall() {
			best = max(best, w.resultNames(c, address))
		}
	}
	return best
}

func carriesAddress(m *thread.Message, address string) bool {
	return slices.ContainsFunc(m.Files, func(f chat.File) bool { return holds(f.Text, address) }) ||
		slices.ContainsFunc(m.FromOthers(), func(q chat.Quote) bool { return holds(q.Text, address) })
}

// resultNames says in what way the result of a call names an address.
func (w Watch) resultNames(c *thread.Call, address string) namedBy {
	if c.Result == nil || c.Result.Origin != thread.Outside || !holds(c.Result.Text, address) || w.modelWrote(address, c.Run.Heard) {
		return byNobody
	}
	tool, _ := w.Tools.Find(c.Tool)
	switch {
	case tool.Reads && w.madeHere():
		return byNobody // it may read the output of the model's own program
	case tool.Lists && listed(c.Result.Text, address):
		return byTrusted
	}
	return byContent
}

// madeHere says whether the thread holds a file that may be the model's own work.
func (w Watch) madeHere() bool {
	return slices.ContainsFunc(w.Thread.Artifacts, func(a *thread.Artifact) bool { return a.With == nil && !a.Outside })
}

// modelWrote says whether the model wrote an address before an entry, in words, arguments
// or the name of a tool.
func (w Watch) modelWrote(address string, before uint64) bool {
	for _, t := range w.Thread.Shown(w.Thread.Trim) {
		for _, st := range t.Steps {
			if st.Seq >= before {
				continue
			}
			if strings.Contains(st.Thought, address) || strings.Contains(st.Answer, address) {
				return true
			}
			if slices.ContainsFunc(st.Calls, func(c *thread.Call) bool { return writesAddress(c, address) }) {
				return true
			}
		}
	}
	return false
}

func writesAddress(c *thread.Call, address string) bool {
	if strings.Contains(c.Tool, address) || strings.Contains(c.Args, address) {
		return true
	}
	return slices.ContainsFunc(leaves(json.RawMessage(c.Args)), func(l leaf) bool { return strings.Contains(l.text, address) })
}
