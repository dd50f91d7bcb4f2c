package speak

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"nod/llm"
	"nod/llm/args"
)

// move is an action as the model wrote it.
type move struct {
	name   string
	input  string
	closed bool // the text itself shows where the input ends
	broken bool // a bracket was not closed: input is what it begins, and does not run
}

// kit is the tools of a prompt, as a text protocol finds them.
type kit []llm.Tool

// find knows a tool by its name, by what people call it and by its aliases, in
// any letter case and however the words are joined. It never guesses: the name
// of another tool must not run this one.
func (k kit) find(name string) (llm.Tool, bool) {
	if t, ok := k.only(func(t llm.Tool) bool { return t.Name == name }); ok {
		return t, true
	}
	if t, ok := k.only(func(t llm.Tool) bool { return slices.Contains(t.Aliases, name) }); ok {
		return t, true
	}
	want := plain(name)
	if want == "" {
		return llm.Tool{}, false
	}
	if t, ok := k.only(func(t llm.Tool) bool { return plain(t.Name) == want }); ok {
		return t, true
	}
	return k.only(func(t llm.Tool) bool {
		return plain(t.HumanName) == want || slices.ContainsFunc(t.Aliases, func(a string) bool { return plain(a) == want })
	})
}

// only is the tool that is meant, if there is exactly one.
func (k kit) only(meant func(llm.Tool) bool) (found llm.Tool, ok bool) {
	for _, t := range k {
		if !meant(t) {
			continue
		}
		if ok {
			return llm.Tool{}, false
		}
		found, ok = t, true
	}
	return found, ok
}

func (k kit) names() []string {
	out := make([]string, 0, len(k))
	for _, t := range k {
		out = append(out, t.Name)
	}
	return out
}

// plain is a name without what writers differ in.
func plain(name string) string { return without(name, " \t_-") }

// without is a name in lower case, without some characters.
func without(name, chars string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(chars, r) {
			return -1
		}
		return r
	}, strings.ToLower(name))
}

// tidy takes off a name what is written around names.
func tidy(name string) string {
	return strings.Trim(name, " \t\r\n`\"'*[]()<>“”‘’「」.,;:。，；：")
}

// none are the words by which a model says that it does nothing.
func isNone(name string) bool {
	return slices.Contains([]string{"", "none", "n/a", "na", "null", "nil", "no", "notool", "noaction", "无", "無", "没有"}, plain(tidy(name)))
}

// isFinish says whether what stands where a tool should is the answer's name.
func isFinish(name string) bool {
	return slices.Contains([]string{"finish", "finalanswer", "answer", "finalresponse", "最终答案", "最終答案"}, plain(tidy(name)))
}

// move reads an action of which the input stands behind a label of its own.
// The name may still bear something: an input that is not empty goes first.
func (k kit) move(action, input string) (move, bool) {
	if m, ok := k.written(action); ok && strings.TrimSpace(input) == "" {
		return m, true
	}
	line, _, _ := strings.Cut(unquoted(action), "\n")
	name := tidy(line)
	if _, known := k.find(name); !known {
		if m, ok := k.split(line); ok {
			name = m.name
		}
	}
	return move{name: name, input: input}, name != ""
}

// written reads an action that holds its input itself: `tool: input`,
// `tool(input)`, `tool {…}`, an object with action and action_input, or the
// bare name of a tool that needs none.
func (k kit) written(action string) (move, bool) {
	body := unquoted(action)
	if m, ok := blob(body); ok {
		return m, true
	}
	if _, known := k.find(tidy(body)); known {
		return move{name: tidy(body)}, true
	}
	if at := inlineInput.FindStringIndex(body); at != nil {
		return move{name: tidy(body[:at[0]]), input: strings.TrimSpace(body[at[1]:])}, true
	}
	if m, ok := k.split(body); ok {
		return m, true
	}
	line, _, _ := strings.Cut(body, "\n")
	return move{name: tidy(line)}, tidy(line) != ""
}

var inlineInput = regexp.MustCompile(`(?i)[ \t,;]+action[ _-]?input[ \t]*[:：]`)

// unquoted is an action without the code fence or emphasis around it.
func unquoted(action string) string {
	body := strings.TrimSpace(action)
	if strings.HasPrefix(body, "```") && strings.HasSuffix(body, "```") && len(body) >= 6 {
		_, inner, _ := strings.Cut(strings.TrimSuffix(body, "```"), "\n")
		body = strings.TrimSpace(inner)
	}
	return body
}

// split finds where the name of a tool that is known ends and its input
// begins. A space alone ends no name: in "search the web" nothing says so.
func (k kit) split(body string) (move, bool) {
	for i, r := range body {
		if !strings.ContainsRune(":：([{\n\"`", r) {
			continue
		}
		name := tidy(body[:i])
		if name == "" {
			continue
		}
		_, known := k.find(name)
		if !known && !isFinish(name) {
			return move{}, false
		}
		rest := body[i:]
		switch r {
		case ':', '：', '\n':
			return move{name: name, input: strings.TrimSpace(rest[utf8.RuneLen(r):])}, true
		case '(', '[':
			return bracketMove(name, rest, !known), true
		}
		return move{name: name, input: rest}, true
	}
	return move{}, false
}

// bracketMove reads an input, or an answer, in the brackets with which text
// begins.
func bracketMove(name, text string, answer bool) move {
	if answer {
		return move{name: name, input: finished(text), closed: true}
	}
	end := bracketEnd(text)
	if end < 0 {
		return move{name: name, input: text, broken: true}
	}
	return move{name: name, input: strings.TrimSpace(text[1:end]), closed: true}
}

// finished is the answer in the brackets with which text begins. One bracket
// too many belongs to the answer, and one too few was cut off.
func finished(text string) string {
	end := bracketEnd(text)
	if end < 0 || end == len(text) {
		return strings.TrimSpace(text[1:])
	}
	shut := text[end : end+1]
	if rest := strings.TrimSpace(text[end+1:]); rest != "" && strings.Trim(rest, shut) == "" {
		end = strings.LastIndex(text, shut)
	}
	return strings.TrimSpace(text[1:end])
}

// bracketEnd finds the bracket that closes the one with which text begins, or
// gives -1. A JSON value and a code fence right behind it are passed over as a
// whole; where one is the end of the text, the bracket was forgotten.
func bracketEnd(text string) int {
	open := text[0]
	shut := byte(']')
	if open == '(' {
		shut = ')'
	}
	depth := 0
	first := passOver(text)
	if first > 1 && strings.TrimSpace(text[first:]) == "" {
		return len(text)
	}
	for i := first; i < len(text); i++ {
		switch text[i] {
		case open:
			depth++
		case shut:
			if depth == 0 {
				return i
			}
			depth--
		}
	}
	return -1
}

// passOver is where the search for the closing bracket begins.
func passOver(text string) int {
	inner := strings.TrimLeft(text[1:], " \t\r\n")
	skipped := len(text) - len(inner)
	switch {
	case strings.HasPrefix(inner, "```"):
		if i := strings.Index(inner[3:], "```"); i >= 0 {
			return skipped + 3 + i + 3
		}
	case strings.HasPrefix(inner, "{"), strings.HasPrefix(inner, `"`):
		dec := json.NewDecoder(strings.NewReader(inner))
		var raw json.RawMessage
		if dec.Decode(&raw) == nil {
			return skipped + int(dec.InputOffset())
		}
	}
	return 1
}

// blob reads an action that is one JSON object, as some frameworks teach it.
func blob(body string) (move, bool) {
	if !strings.HasPrefix(body, "{") {
		return move{}, false
	}
	var fields map[string]json.RawMessage
	if json.NewDecoder(strings.NewReader(body)).Decode(&fields) != nil {
		return move{}, false
	}
	var m move
	for _, key := range nameFields {
		if json.Unmarshal(fields[key], &m.name) == nil && m.name != "" {
			break
		}
	}
	for _, key := range argsFields {
		if raw := fields[key]; len(raw) > 0 {
			if json.Unmarshal(raw, &m.input) != nil {
				m.input = string(raw)
			}
			break
		}
	}
	m.closed = true
	return m, m.name != ""
}

// call makes the call of a move. ok is false when the completion was cut off
// by its length in the middle of a move that does not show where it ends.
func (k kit) call(m move, cutOff bool) (c llm.Call, ok bool) {
	t, known := k.find(m.name)
	c.Name = t.Name
	if !known {
		c.Name = Clip(m.name, maxName)
	}
	if m.broken {
		c.Args = m.input
		return c, true
	}
	text, closed := arguments(t, m.input)
	c.Args = text
	return c, closed || m.closed || !cutOff
}

// maxName is how much of a name that no tool has is kept, to be named in the
// word that there is none.
const maxName = 100

// arguments reads the input for a tool. What can't be read stays as it is: it
// is no JSON either, and so the call does not run, and the model is told.
func arguments(t llm.Tool, input string) (text string, closed bool) {
	schema, err := args.Compile(t.Parameters)
	if err != nil {
		schema = nil // the tool takes what it takes
	}
	if t.Code != "" {
		return code(t, schema, input)
	}
	raw, err := args.Text(input, schema)
	if err != nil {
		return input, true
	}
	body := strings.TrimSpace(input)
	return string(raw), strings.HasPrefix(body, "{") || strings.HasPrefix(body, "```")
}

// code reads the input of a tool that takes code: an object all the same, the
// first fenced block, or the whole text. A fence that is not closed is the
// beginning of a program, which is another program.
func code(t llm.Tool, schema *args.Schema, input string) (text string, closed bool) {
	body := strings.TrimSpace(input)
	source, lang, fenced := block(body)
	object := body
	if fenced {
		object = strings.TrimSpace(source)
	}
	if strings.HasPrefix(object, "{") {
		if raw, err := args.Text(object, schema); err == nil && has(raw, t.Code) {
			return string(raw), true
		}
		if named(object, t.Code) || strings.EqualFold(lang, "json") {
			return object, true
		}
	}
	switch {
	case fenced:
	case strings.Contains(body, "```"):
		return body, true
	default:
		source = strings.Trim(body, "`")
	}
	raw, err := encode(map[string]string{t.Code: source})
	if err != nil {
		return input, true
	}
	return raw, fenced
}

func has(raw json.RawMessage, key string) bool {
	var fields map[string]json.RawMessage
	return json.Unmarshal(raw, &fields) == nil && fields[key] != nil
}

// named says whether an object that can't be read begins with the parameter.
func named(object, key string) bool {
	rest := strings.TrimLeft(object, "{ \t\r\n\"'`“")
	return strings.HasPrefix(rest, key) && strings.ContainsAny(rest, ":")
}

var fenceOpening = regexp.MustCompile("(?m)(`{3,})([A-Za-z0-9_+#.-]*)[ \t]*\r?\n")

// block is the first fenced block of a text, without its fence.
func block(text string) (source, lang string, ok bool) {
	at := fenceOpening.FindStringSubmatchIndex(text)
	if at == nil {
		inner, cut := strings.CutPrefix(text, "```")
		inner, shut := strings.CutSuffix(inner, "```")
		return inner, "", cut && shut
	}
	marks, lang, rest := text[at[2]:at[3]], text[at[4]:at[5]], text[at[1]:]
	if strings.HasPrefix(rest, marks) {
		return "", lang, true
	}
	source, _, ok = strings.Cut(rest, "\n"+marks)
	if !ok {
		source, ok = strings.CutSuffix(rest, marks)
	}
	return source, lang, ok
}

// encode is JSON without the escapes that only pages of HTML need.
func encode(v any) (string, error) {
	var out strings.Builder
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return "", err
	}
	return strings.TrimSuffix(out.String(), "\n"), nil
}
