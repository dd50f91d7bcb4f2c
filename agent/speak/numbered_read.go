package speak

import (
	"encoding/json"
	"regexp"
	"strings"

	"nod/llm"
)

// Read implements [Protocol]. What a completion means is decided so:
//
//   - It ends at the first observation line: that one is invented.
//   - The first action counts: the next was written without its observation.
//   - Finish, and a line that begins with Final Answer or Answer before any
//     action, give the answer; an empty Finish gives none.
//   - An action is read up to the bracket that closes it. A call whose bracket
//     is not closed does not run; an answer's need not be.
//   - Text without any label is an action if it is one of the tools with its
//     brackets, since the prompt may have ended at "Action 1:". Otherwise it is
//     the answer, as in the other protocols.
//   - Anything else is a bare thought.
func (Numbered) Read(tools []llm.Tool, r llm.Response) Completion {
	text, reasoning := parted(r.Text, r.Reasoning)
	body, cut := cutObservation(text, false)
	rd := numberedReading{reading{kit: newBrackets(tools).kit, body: body, segs: segments(body), cutOff: !r.Whole() && !cut}}
	return rd.read(cut).orReasoned(reasoning)
}

type numberedReading struct{ reading }

func (rd numberedReading) read(cut bool) Completion {
	for i, s := range rd.segs {
		switch s.label {
		case actionLabel:
			if c, ok := rd.action(i); ok {
				return c
			}
		case answerLabel:
			return Completion{Thought: thoughts(rd.segs[:i]), Answer: rd.answer(i)}
		}
	}
	first := rd.segs[0].text
	if first != "" && (len(rd.segs) == 1 || len(rd.kit) == 0) {
		if c, ok := rd.unlabelled(first); ok {
			return c
		}
		if len(rd.kit) == 0 {
			return Completion{Answer: closing(rd.answer(0))}
		}
		if !cut {
			return Completion{Answer: first}
		}
	}
	return Completion{Thought: thoughts(rd.segs)}
}

// action reads the action of a segment.
func (rd numberedReading) action(i int) (Completion, bool) {
	over := i == len(rd.segs)-1
	m, ok := rd.move(rd.segs[i].text)
	if ok && i+1 < len(rd.segs) && rd.segs[i+1].label == inputLabel && m.input == "" {
		m.input, over = rd.segs[i+1].text, i+1 == len(rd.segs)-1
	}
	if !ok {
		return Completion{}, false
	}
	return rd.resolve(Completion{Thought: thoughts(rd.segs[:i])}, m, rd.cutOff && over)
}

func (rd numberedReading) resolve(c Completion, m move, cutOff bool) (Completion, bool) {
	if !rd.known(m.name) && isFinish(m.name) {
		c.Answer = strings.TrimSpace(unstringed(m.input))
		return c, true
	}
	if len(rd.kit) == 0 {
		return c, false // no tool may be used any more
	}
	ok := rd.reading.resolve(&c, m, cutOff)
	return c, ok
}

// known says whether a tool has a name; Finish is none, whatever the tools are called.
func (rd numberedReading) known(name string) bool {
	_, ok := rd.find(name)
	return ok && plain(tidy(name)) != "finish"
}

// unlabelled reads a text that is nothing but an action.
func (rd numberedReading) unlabelled(text string) (Completion, bool) {
	at := actionLine.FindStringSubmatch(text)
	if at == nil {
		return Completion{}, false
	}
	if !rd.known(at[1]) && !isFinish(at[1]) {
		return Completion{}, false
	}
	m, ok := rd.move(text)
	if !ok {
		return Completion{}, false
	}
	return rd.resolve(Completion{}, m, rd.cutOff)
}

// actionLine is a name with an opening bracket, at the beginning of a text.
var actionLine = regexp.MustCompile(`^([\p{L}][\p{L}\p{N}_-]*) ?\[`)

// move reads `Name[input]` and what comes near it.
func (rd numberedReading) move(action string) (move, bool) {
	body := unquoted(action)
	open := strings.IndexByte(body, '[')
	if i := strings.IndexAny(body, "\n:：({"); open < 0 || i >= 0 && i < open {
		return rd.written(body)
	}
	name := tidy(body[:open])
	if name == "" {
		return move{}, false
	}
	return bracketMove(name, body[open:], !rd.known(name) && isFinish(name)), true
}

// closing is an answer of which the opening bracket stood in the prompt.
func closing(text string) string {
	text = strings.TrimSpace(text)
	depth := 0
	for i, r := range text {
		switch r {
		case '[':
			depth++
		case ']':
			if depth--; depth < 0 {
				rest := text[i+1:]
				if rest == "" || strings.HasPrefix(rest, "\n") {
					return strings.TrimSpace(text[:i])
				}
				depth = 0
			}
		}
	}
	return text
}

// unstringed takes the quotes off an answer that is one JSON string.
func unstringed(text string) string {
	var s string
	if strings.HasPrefix(text, `"`) && json.Unmarshal([]byte(text), &s) == nil {
		return s
	}
	return text
}

// startsAction is where a line begins that is an action without its label.
var startsAction = regexp.MustCompile(`(?m)^[ \t]*\p{L}[\p{L}\p{N}_-]* ?\[`)

// Growing is what of an unfinished completion may be shown as a thought; see
// [React.Growing]. Behind "Action 1:" the model writes no label: a line that
// may be an action is not shown either.
func (Numbered) Growing(text string) (thought string) {
	line := strings.LastIndexByte(text, '\n') + 1
	if at := startsAction.FindStringIndex(text); at != nil {
		text = text[:at[0]]
	} else if oneWord.MatchString(text[line:]) {
		text = text[:line]
	}
	return growing(text, false)
}

// Answering is what the first action of an unfinished completion gives as the
// answer, or what stands behind an answer's label before any action.
func (Numbered) Answering(tools []llm.Tool, text string) (answer string) {
	rd, ok := soFar(newBrackets(tools).kit, text, false)
	if !ok {
		return ""
	}
	for i, s := range rd.segs {
		switch s.label {
		case actionLabel:
			c, ok := numberedReading{rd}.action(i)
			if ok || i+1 < len(rd.segs) {
				return c.Answer
			}
		case answerLabel:
			return rd.answer(i)
		}
	}
	return ""
}

var oneWord = regexp.MustCompile(`^[ \t]*[\p{L}\p{N}_-]* ?$`)
