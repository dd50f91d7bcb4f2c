package speak

import (
	"regexp"
	"slices"
	"strings"

	"nod/llm"
)

// Read implements [Protocol]. What a completion means is decided so:
//
//   - It ends at the first observation: that one is invented.
//   - Of several actions the last with an input counts, as in the sources: who
//     writes two without a result between has thought again.
//   - An action wins over a Final Answer behind it, which can't know its result;
//     a Final Answer wins over actions behind it, which belong to a question
//     that nobody asked.
//   - Text without any label is the answer; a thought alone is a bare thought.
//   - What is thought, under a label or by a model that thinks apart, is never
//     part of the answer.
func (React) Read(tools []llm.Tool, r llm.Response) Completion {
	text, reasoning := parted(r.Text, r.Reasoning)
	body, cut := cutObservation(text, true)
	rd := reading{kit: tools, body: body, segs: segments(body), cutOff: !r.Whole() && !cut}
	if len(tools) == 0 {
		return rd.lastWords().orReasoned(reasoning)
	}
	return rd.react(cut).orReasoned(reasoning)
}

// reading is a completion that is being read.
type reading struct {
	kit
	body   string
	segs   []segment
	cutOff bool // by its length, or by a filter
}

func (rd reading) react(cut bool) Completion {
	if c, ok := rd.choose(); ok {
		return c
	}
	body := inlineAction.ReplaceAllString(rd.body, "$1\n$2\n$3") // some models write everything into one line
	if body = inlineAnswer.ReplaceAllString(body, "$1\n$2"); body != rd.body {
		folded := rd
		folded.body, folded.segs = body, segments(body)
		if c, ok := folded.choose(); ok {
			return c
		}
	}
	if len(rd.segs) == 1 && !cut {
		return Completion{Answer: rd.segs[0].text}
	}
	return Completion{Thought: thoughts(rd.segs)}
}

// choose finds the action or the answer; ok is false when there is neither.
func (rd reading) choose() (c Completion, ok bool) {
	answer, weak := rd.answers()
	if c, ok := rd.lastAction(answer); ok {
		return c, true
	}
	for _, i := range []int{answer, weak} {
		if i < len(rd.segs) {
			return Completion{Thought: thoughts(rd.segs[:i]), Answer: rd.answer(i)}, true
		}
	}
	return Completion{}, false
}

// answers gives the first Final Answer, and the first plain Answer; where there
// is none, the number of segments.
func (rd reading) answers() (final, weak int) {
	final, weak = len(rd.segs), len(rd.segs)
	for i, s := range rd.segs {
		switch {
		case s.label != answerLabel:
		case !s.weak:
			return i, weak
		case weak == len(rd.segs):
			weak = i
		}
	}
	return final, weak
}

// lastAction reads the action that counts among the segments before end.
func (rd reading) lastAction(end int) (Completion, bool) {
	action, input := -1, -1
	last := -1
	for i, s := range rd.segs[:end] {
		switch s.label {
		case actionLabel:
			last = i
		case inputLabel:
			if last >= 0 {
				action, input = last, i
			}
		}
	}
	if action < 0 {
		action = last
	}
	if action < 0 {
		return Completion{}, false
	}
	m, ok := rd.written(rd.segs[action].text)
	if input >= 0 {
		m, ok = rd.move(rd.segs[action].text, rd.segs[input].text)
	}
	if !ok {
		return Completion{}, false
	}
	c := Completion{Thought: thoughts(rd.segs[:action])}
	over := max(action, input) == len(rd.segs)-1
	return c, rd.resolve(&c, m, rd.cutOff && over)
}

// resolve puts what a move means into c; ok is false when it means nothing.
func (k kit) resolve(c *Completion, m move, cutOff bool) (ok bool) {
	_, known := k.find(m.name)
	switch {
	case known:
	case isFinish(m.name):
		c.Answer = strings.TrimSpace(m.input)
		return true
	case isNone(m.name):
		return false
	}
	call, ok := k.call(m, cutOff)
	if ok {
		c.Calls = []llm.Call{call}
	}
	return true
}

// answer is the text of the answer that begins at a segment. Lines in it that
// only look like labels are part of it; where the model goes on to play the
// next question through, it ends.
func (rd reading) answer(first int) string {
	end := len(rd.body)
	for i := first + 1; i < len(rd.segs); i++ {
		s := rd.segs[i]
		if s.label == answerLabel && !s.weak {
			first, end = i, len(rd.body) // said again, and better
			continue
		}
		if rd.goesOn(i) {
			end = s.start
			break
		}
	}
	return trimEmphasis(rd.body[rd.segs[first].end:end], rd.segs[first].emphasis)
}

// goesOn says whether a segment behind an answer begins something else.
func (rd reading) goesOn(i int) bool {
	next := noLabel
	if i+1 < len(rd.segs) {
		next = rd.segs[i+1].label
	}
	switch rd.segs[i].label {
	case thoughtLabel, observationLabel:
		return true
	case actionLabel:
		return next == inputLabel
	case questionLabel:
		return next == thoughtLabel || next == actionLabel
	}
	return false
}

// lastWords reads what a model says that has no tools: the prompt ended where
// the answer begins.
func (rd reading) lastWords() Completion {
	if final, _ := rd.answers(); final < len(rd.segs) {
		return Completion{Thought: thoughts(rd.segs[:final]), Answer: rd.answer(final)}
	}
	if text := rd.answer(0); text != "" {
		return Completion{Answer: text}
	}
	return Completion{Thought: thoughts(rd.segs)}
}

var (
	inlineAction = regexp.MustCompile(`([ \t.!?;,])(Action:[^\n]{1,100}?)[ \t,;\n]+(Action Input:)`)
	inlineAnswer = regexp.MustCompile(`([ \t.!?;,])(Final Answer:)`)
)

// Growing is what of an unfinished completion may be shown as a thought: what
// stands before the action or the answer, and no line of which it is open
// whether it will be a label. More text never takes back what was shown.
func (React) Growing(text string) (thought string) { return growing(text, true) }

func growing(text string, anywhere bool) string {
	text, _, cut := strings.Cut(text, thinkClose)
	body := unwrap(text)
	found := marksBut(body, nil) // a fence that is open may yet be closed: none is minded
	for i, m := range found {
		if m.label != thoughtLabel {
			body, found, cut = body[:m.start], found[:i], true
			break
		}
	}
	for _, label := range []string{"Action:", "Final Answer:", stopObservation} {
		if i := strings.Index(body, label); i >= 0 && (anywhere || label != stopObservation) {
			body, cut = body[:i], true
		}
	}
	if !cut {
		body = settled(body)
	}
	found = slices.DeleteFunc(found, func(m mark) bool { return m.start >= len(body) })
	for i := range found {
		found[i].end = min(found[i].end, len(body))
	}
	return thoughts(split(body, found))
}

// Answering is what stands behind the Final Answer of an unfinished completion,
// where nothing before it calls a tool: whatever follows, it is the answer. What
// has no label, or a weak one, may yet become something else.
func (React) Answering(tools []llm.Tool, text string) (answer string) {
	rd, ok := soFar(tools, text, true)
	if !ok {
		return ""
	}
	final, _ := rd.answers()
	if final == len(rd.segs) {
		return ""
	}
	if _, acts := rd.lastAction(final); acts && len(tools) > 0 {
		return ""
	}
	return rd.answer(final)
}

// soFar reads what an unfinished completion has for certain: without a last
// line that may become a label. ok is false while it is open whether something of
// it stands in a block of code or is thought.
func soFar(tools []llm.Tool, text string, anywhere bool) (rd reading, ok bool) {
	if strings.Count(text, "```")%2 == 1 || strings.Contains(text, "<think>") && !strings.Contains(text, thinkClose) {
		return reading{}, false
	}
	text, _ = parted(text, "")
	body, cut := cutObservation(text, anywhere)
	if !cut {
		body = settled(body)
	}
	return reading{kit: tools, body: body, segs: segments(body)}, true
}

// thinkClose ends the thinking that a server leaves in a growing text.
const thinkClose = "</think>"

// settled is a growing text without an end that may become a label, or the end
// of emphasis that was opened before one.
func settled(body string) string {
	line := strings.LastIndexByte(body, '\n') + 1
	if mayBeLabel(body[line:]) {
		body = body[:line]
	}
	if first := strings.TrimSpace(body); strings.HasPrefix(first, "```") && !strings.Contains(first, "\n") {
		return "" // all of it may be in a fence
	}
	return strings.TrimRight(withoutBegun(body, "Action:", "Final Answer:", stopObservation, thinkClose), "*_ ")
}

// withoutBegun is a growing text without an end that may become one of the words.
func withoutBegun(text string, words ...string) string {
	for _, word := range words {
		for n := min(len(word)-1, len(text)); n > 0; n-- {
			if rest, begun := strings.CutSuffix(text, word[:n]); begun {
				text = rest
				break
			}
		}
	}
	return text
}

// mayBeLabel says whether a line can still become a label.
func mayBeLabel(line string) bool {
	begun := labelName(strings.Trim(line, "` "))
	for name := range labelNames {
		if strings.HasPrefix(name, begun) {
			return true
		}
	}
	return false
}
