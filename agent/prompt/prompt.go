// Package prompt writes what the model sees of a thread ([Writer]): order, trimming to the
// budget, summaries. The same thread gives the same prompt, and its prefix stays the
// same from call to call, so that caches of providers hit.
package prompt

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"nod/agent/speak"
	"nod/agent/strategy"
	"nod/agent/taint"
	"nod/agent/thread"
	"nod/chat"
	"nod/llm"
	"nod/memory"
)

// Writer writes the prompts of a thread.
type Writer struct {
	Thread *thread.Thread
	Taint  taint.Watch

	Instructions string
	Skills       string // a line for each, for prompts that offer the tool
	Examples     []speak.Example
	Protocol     speak.Protocol
	Budget       int // tokens of one prompt, tool definitions included; 0: no limit
	Zone         *time.Location
	Zones        func(name string) *time.Location
	Count        func(string) int
	Blind        bool         // the model takes no images
	Summary      bool         // the model summarises what is trimmed
	Book         *memory.Book // the channel's facts; nil: they were not read
}

// Write builds the prompt for the next model call. It also gives the trim to record with
// the call, and the size in tokens: 0 when the prompt is certain to fit, and so was not
// counted.
func (w Writer) Write() (p speak.Prompt, before []memory.Body, estimate int) {
	p = w.present()
	if w.Budget <= 0 || w.Thread.Trim.Clip == 0 && w.bytes(p) <= w.Budget {
		return p, nil, 0
	}
	whole := w.shape(p)
	budget := int(float64(w.Budget) / tokenCorrection(w.Thread))
	cut := trim(whole, budget, w.Thread.Trim)
	if !same(cut, w.Thread.Trim) {
		w.Thread.Carry(&cut)
		before = []memory.Body{cut}
		p.Turns, p.Left = w.exchanges(cut), leftText(w.Thread, cut)
	}
	return p, before, whole.size(cut)
}

// present is the prompt as the last cut leaves it.
func (w Writer) present() speak.Prompt {
	p := w.preamble()
	p.Turns, p.Left = w.exchanges(w.Thread.Trim), leftText(w.Thread, w.Thread.Trim)
	return p
}

// same says whether two cuts leave the same.
func same(a, b memory.Trimmed) bool {
	return a.Before == b.Before && a.Steps == b.Steps && a.Clip == b.Clip && len(a.Stubs) == len(b.Stubs)
}

// preamble is the part of the prompt that does not depend on the conversation.
func (w Writer) preamble() speak.Prompt {
	p := speak.Prompt{Examples: w.Examples}
	var servers string
	p.Tools, servers = w.Taint.Tools.Shown(w.Thread, w.Taint.Draft)
	p.System = strings.TrimSpace(w.Instructions) + w.skills(p.Tools) + "\n\n" + textSystem + cannot(p.Tools) + servers + "\nToday is " + w.today() + "." + w.facts()
	return p
}

// skills tells the model of the skills, where it may read them.
func (w Writer) skills(tools []llm.Tool) string {
	if w.Skills == "" || !slices.ContainsFunc(tools, func(t llm.Tool) bool { return t.Name == thread.SkillTool }) {
		return ""
	}
	return textSkills + w.Skills
}

// cannot tells the model what it can't do without the tools for it, so that it promises
// nothing.
func cannot(tools []llm.Tool) string {
	text := ""
	for _, c := range []struct{ tool, text string }{{"schedule", textNotLater}, {"remember", textForgets}} {
		if !slices.ContainsFunc(tools, func(t llm.Tool) bool { return t.Name == c.tool }) {
			text += c.text
		}
	}
	return text
}

// today is the date on which the turn was opened, in the zone of its requester.
func (w Writer) today() string {
	t := w.Thread.Open
	return t.At.In(w.ZoneOf(t.Requester)).Format("Monday, 2 January 2006")
}

// ZoneOf is the zone of a person's days and hours.
func (w Writer) ZoneOf(u chat.User) *time.Location {
	zone := w.Zone
	if zone == nil && u.Zone != "" && w.Zones != nil {
		zone = w.Zones(u.Zone)
	}
	if zone == nil {
		zone = time.UTC
	}
	return zone
}

// exchanges lists the exchanges that a cut leaves.
func (w Writer) exchanges(cut memory.Trimmed) [][]speak.Item {
	return w.itemsOf(w.Thread.Talk(cut), cut)
}

// itemsOf lists what was said and done in exchanges.
func (w Writer) itemsOf(talk [][]thread.Part, cut memory.Trimmed) [][]speak.Item {
	out := make([][]speak.Item, 0, len(talk))
	for _, parts := range talk {
		out = append(out, w.exchange(parts, cut))
	}
	return w.sparse(out)
}

// exchange lists what was said and done in one exchange.
func (w Writer) exchange(parts []thread.Part, cut memory.Trimmed) (out []speak.Item) {
	for _, p := range parts {
		out = append(out, w.items(p, cut, w.Taint.Draft)...)
	}
	return out
}

// items lists what was said and done in a turn, in the order in which the model learnt of
// it. Drafts, which nobody saw, are left out.
func (w Writer) items(p thread.Part, cut memory.Trimmed, branch int) []speak.Item {
	s, t := w.Thread, p.Turn
	msgs, from := p.Said(), 0
	out := make([]speak.Item, 0, len(msgs)+len(t.Steps))
	say := func(upTo uint64) {
		for from < len(msgs) && msgs[from].Seq <= upTo {
			m := msgs[from].Message
			out = append(out, speak.Item{Said: speak.Clip(saidText(s, m), cut.Clip), Images: imagesOf(s, m.Files, cut)})
			from++
		}
	}
	if t != s.Open {
		branch = p.Branch()
	}
	out = append(out, retryNote(t)...)
	shown, gone := &portion{p, cut, branch}, false
	for _, st := range p.Path() {
		say(st.Seen)
		if st.Seq < cut.Steps && len(st.Calls) > 0 {
			if !gone {
				out = append(out, speak.Item{Said: textStepsLeftOut})
			}
			gone = true
			continue
		}
		out = w.step(out, shown, st)
	}
	say(^uint64(0))
	if branch > 0 && t == s.Open {
		out = append(out, speak.Item{Said: fmt.Sprintf(textAngle, branch, len(strategy.Angles)) + strategy.Angles[branch-1]})
	}
	if t.Ended && (t.Stopped != nil || t.Failed != nil) && p.UpTo == nil {
		out = append(out, speak.Item{Answer: textUnanswered})
	}
	return out
}

// portion is a part of the prompt, as a cut leaves it.
type portion struct {
	thread.Part
	cut    memory.Trimmed
	branch int // the draft that is shown as done
}

// step adds what was done in a step.
func (w Writer) step(out []speak.Item, p *portion, st *thread.Step) []speak.Item {
	t, open := p.Turn, p.Turn == w.Thread.Open
	switch {
	case st.Branch != p.branch || st.Phase == memory.PlanStep || st.Phase == memory.ReflectStep:
		return append(out, phaseNotes(t, st, p.Runs)...)
	case p.UpTo != nil && st == p.UpTo.Step:
		return append(out, w.besides(p.UpTo, p.cut)...)
	case len(st.Calls) > 0:
		do := w.doing(st, p.cut)
		switch {
		case !p.Runs:
			do.Images = nil
		case p.cut.Clip == 0 && open: // it goes back whole or not at all
			do.Echo = st.Echo
		}
		return append(append(out, speak.Item{Step: do}), resumeNote(t, st, p.cut)...)
	case st == t.Draft() && t.Ended && st.Answer != "":
		return append(out, speak.Item{Answer: speak.Clip(st.Answer, p.cut.Clip)})
	case open && st.Written:
		return append(out, speak.Item{Said: textWritten})
	case open && st.Answer == "" && st.Thought != "":
		return append(out, speak.Item{Step: &speak.Doing{Thought: speak.Clip(st.Thought, p.cut.Clip), Reasoned: st.Reasoned}})
	}
	return out
}

// doing is a step with its calls and their results.
func (w Writer) doing(st *thread.Step, cut memory.Trimmed) *speak.Doing {
	do := &speak.Doing{Thought: speak.Clip(st.Thought, cut.Clip), Reasoned: st.Reasoned}
	if from := st.Origin(); from != nil && len(from.Step.Calls) == 1 {
		do.Thought, do.Reasoned = speak.Clip(from.Step.Thought, cut.Clip), from.Step.Reasoned
	}
	for _, c := range st.Calls {
		k := speak.Call{ID: c.ID, Tool: c.Tool, Args: c.Wrote(), Object: c.Object}
		if !k.Object {
			k.Args = speak.Wrap(c.Wrote())
		}
		k.Args = clipArgs(k, cut.Clip)
		if k.Tool, k.Args = w.Taint.Tools.Spelt(k.Tool, k.Args); k.Tool != c.Tool {
			k.Object = true
		}
		do.Calls = append(do.Calls, k)
		text := "no result"
		if c.Result != nil {
			text = textByHand(c) + textChanged(c) + observedText(w.Thread, c.Result)
			if c.Run.Late != nil {
				text += "\n[Later it became known what came of it:]\n" + observedText(w.Thread, c.Run.Late)
			}
			if c.FromOutside() {
				text = taint.FromOutside + "\n" + text
				do.Images = append(do.Images, imagesOf(w.Thread, c.Result.Artifacts, cut)...)
			}
		}
		if slices.Contains(cut.Stubs, c.ID) {
			text = stub(text)
		}
		do.Results = append(do.Results, speak.Clip(text, cut.Clip))
	}
	return do
}

// clipArgs leaves out arguments that are too long, since half a JSON object is none.
func clipArgs(c speak.Call, n int) string {
	if n <= 0 || len(c.Tool)+len(c.Args) <= n {
		return c.Args
	}
	return "{}"
}

// stub stands for a result that is left out.
func stub(text string) string {
	if len(text) < 80 {
		return text
	}
	return fmt.Sprintf("[a result of %d characters, left out to save room; call the tool again if you need it]", utf8.RuneCountInString(text))
}

// sparse keeps only the newest pictures, in at most half of the budget; none for a model
// that takes none.
func (w Writer) sparse(turns [][]speak.Item) [][]speak.Item {
	most := w.Budget / 2 / perImage
	switch {
	case w.Blind:
		most = 0
	case w.Budget <= 0:
		return turns
	}
	keep := func(images []llm.Image) []llm.Image {
		n := min(most, len(images))
		most -= n
		return images[len(images)-n:]
	}
	for _, items := range slices.Backward(turns) {
		for i := len(items) - 1; i >= 0; i-- {
			if do := items[i].Step; do != nil {
				do.Images = keep(do.Images)
			}
			items[i].Images = keep(items[i].Images)
		}
	}
	return turns
}

// imagesOf lists the pictures among files. Pictures can't be clipped, so a clipped prompt
// has none.
func imagesOf(s *thread.Thread, files []chat.File, cut memory.Trimmed) []llm.Image {
	var out []llm.Image
	for _, f := range files {
		if f.Blob != "" && cut.Clip == 0 && !s.IsDropped(f) && chat.Pictured(f.MediaType) {
			out = append(out, llm.Image{Name: f.Name, MediaType: f.MediaType, Blob: f.Blob})
		}
	}
	return out
}

// besides lists the other calls of a step that a person ran a call of again.
func (w Writer) besides(from *thread.Call, cut memory.Trimmed) []speak.Item {
	if len(from.Step.Calls) == 1 {
		return nil
	}
	rest := *from.Step
	rest.Calls = slices.DeleteFunc(slices.Clone(rest.Calls), func(c *thread.Call) bool { return c == from })
	return []speak.Item{{Step: w.doing(&rest, cut)}}
}
