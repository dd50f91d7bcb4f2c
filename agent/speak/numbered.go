package speak

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"nod/llm"
	"nod/llm/args"
)

// Numbered is the protocol of the ReAct paper, for models that go on with what
// they are shown: Thought 1, Action 1: Search[x], Observation 1, up to
// Finish[answer]. A completion without an action keeps its thought, and the
// model is called again behind "Action 1:"; after the last step it only writes
// what stands in Finish[.
//
// https://arxiv.org/abs/2210.03629
type Numbered struct{}

const numberedFrame = `Solve the task with interleaving Thought, Action and Observation steps. A Thought reasons about where things stand. An Action is one line of these kinds:
%s
Each Action is followed by its Observation. Here are some examples.

`

// Request implements [Protocol].
func (Numbered) Request(p Prompt) llm.Request {
	if p.LastCall {
		p.Tools = nil
	} else if len(p.Tools) == 0 {
		return NativeTools{}.Request(p) // nothing to act with: a plain conversation
	}
	shown := newBrackets(p.Tools)
	newForm := func() form { return &numberedForm{brackets: shown, k: 1} }
	now := &numberedForm{brackets: shown, k: 1}
	frame := Numbered{}.Frame(p.Tools) + configured(p.Examples)
	p.Examples = nil
	return llm.Request{
		Messages: converse(p, frame, now, newForm),
		Stop:     []string{fmt.Sprintf("\nObservation %d:", now.k)},
	}
}

// Frame is what the prompt says before the question, tools and examples of
// their use included.
func (Numbered) Frame(tools []llm.Tool) string {
	if len(tools) == 0 {
		return LastCall + "\n\n"
	}
	b := newBrackets(tools)
	var kinds []string
	for i, t := range tools {
		kinds = append(kinds, fmt.Sprintf("(%d) %s: %s", i+1, b.usage(t), strings.Join(strings.Fields(t.Description), " ")))
	}
	kinds = append(kinds, fmt.Sprintf("(%d) Finish[answer]: gives the answer and ends the task.", len(kinds)+1))
	return fmt.Sprintf(numberedFrame, strings.Join(kinds, "\n")) + examplesFor(tools, b)
}

// brackets shows tools by the names and in the form of the paper.
type brackets struct {
	kit                      // each has the name that is shown for an alias
	names  map[string]string // tool → name that is shown
	single map[string]string // tool → the parameter that stands in the brackets as it is
}

// paperNames are what the paper calls the tools that it has.
var paperNames = map[string]string{"wikipedia_search": "Search", "wikipedia_lookup": "Lookup"}

func newBrackets(tools []llm.Tool) brackets {
	b := brackets{names: map[string]string{}, single: map[string]string{}}
	own := map[string]int{"finish": 1}
	for _, t := range tools {
		own[plain(t.Name)]++
	}
	for _, t := range tools {
		paper := paperNames[t.Name]
		switch {
		case paper != "" && own[plain(paper)] == 0:
			b.names[t.Name] = paper
		case own[plain(t.Name)] > 1:
			b.names[t.Name] = "Tool_" + t.Name
		default:
			b.names[t.Name] = capital(t.Name)
		}
		if name, ok := args.Single(t.Parameters); ok {
			b.single[t.Name] = name
		}
		t.Aliases = append([]string{b.names[t.Name]}, t.Aliases...)
		b.kit = append(b.kit, t)
	}
	return b
}

func capital(name string) string {
	r, n := utf8.DecodeRuneInString(name)
	return string(unicode.ToUpper(r)) + name[n:]
}

// name is how a tool is shown, whether it is still there or not.
func (b brackets) name(tool string) string {
	if n := b.names[tool]; n != "" {
		return n
	}
	if n := paperNames[tool]; n != "" && len(b.kit) == 0 {
		return n
	}
	return capital(tool)
}

// usage shows how a tool is called.
func (b brackets) usage(t llm.Tool) string {
	name := b.name(t.Name)
	if p := b.single[t.Name]; p != "" {
		return name + "[" + p + "]"
	}
	var schema struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if json.Unmarshal(t.Parameters, &schema) == nil && len(schema.Properties) == 0 {
		return name + "[]"
	}
	return name + "[a JSON object that fits " + parametersOf(t) + "]"
}

// write shows a call: with its one text alone in the brackets where it would
// be read so again.
func (b brackets) write(c Call) string {
	name := b.name(c.Tool)
	if !c.Object {
		return name + "[" + strings.TrimPrefix(quoted(malformed(c.Args)), "[")
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal([]byte(c.Args), &fields) != nil || len(fields) > 1 {
		return name + "[" + c.Args + "]"
	}
	for key, raw := range fields {
		_, known := b.find(c.Tool)
		if text, ok := alone(raw); ok && (b.single[c.Tool] == key || !known) {
			return name + "[" + text + "]"
		}
		return name + "[" + c.Args + "]"
	}
	return name + "[]"
}

// alone is a string that can stand in brackets without quotes.
func alone(raw json.RawMessage) (text string, ok bool) {
	if json.Unmarshal(raw, &text) != nil || text == "" || strings.TrimSpace(text) != text {
		return "", false
	}
	if strings.ContainsAny(text[:1], "{\"`") || strings.Contains(text, "\n") {
		return "", false
	}
	end := bracketEnd("[" + text + "]")
	return text, end == len(text)+1
}

// numberedForm writes what was said and done in the protocol's lines, and
// counts the steps.
type numberedForm struct {
	brackets
	k       int
	pending bool // the last line is a thought that awaits its action
}

// Label implements [Framed].
func (Numbered) Label() string { return "\nObservation 10: " }

func (f *numberedForm) question(said string) string {
	f.pending = false
	return "Question: " + said
}

func (f *numberedForm) step(do Doing) string {
	var lines []string
	if thought := do.said(); thought != "" {
		lines = append(lines, fmt.Sprintf("Thought %d: %s", f.k, thought))
	}
	f.pending = len(do.Calls) == 0
	for i, c := range do.Calls {
		result := quoted(do.Results[i])
		if !c.Object {
			result += fmt.Sprintf(" Write the action on one line, up to the closing bracket: Action %d: %s[…]", f.k+1, f.name(c.Tool))
		}
		lines = append(lines,
			fmt.Sprintf("Action %d: %s", f.k, f.write(c)),
			fmt.Sprintf("Observation %d: %s", f.k, result))
		f.k++
	}
	return strings.Join(lines, "\n")
}

func (f *numberedForm) answer(text string) string {
	f.pending = false
	return fmt.Sprintf("Action %d: Finish[%s]", f.k, text)
}

func (f *numberedForm) end(last bool) string {
	switch {
	case last:
		return fmt.Sprintf("\nAction %d: Finish[", f.k)
	case f.pending:
		return fmt.Sprintf("\nAction %d:", f.k)
	}
	return fmt.Sprintf("\nThought %d:", f.k)
}
