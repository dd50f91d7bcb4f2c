// Package details is the tool that reads more of a thread's artifacts than the
// prompt shows: a range of lines, a section, the lines that hold some words. It
// keeps nothing.
package details

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"nod/chat"
	"nod/edits"
	"nod/llm"
	"nod/tools"
	"nod/tools/document"
)

//go:embed details.md
var prose string

const parameters = `{"type":"object","properties":{
"artifact":{"type":"string","minLength":1,"maxLength":500,"description":"the name of the file, for example report.pdf"},
"query":{"type":"string","minLength":1,"maxLength":300,"description":"for example total revenue"},
"lines":{"type":"string","minLength":1,"maxLength":40,"description":"for example 120-180"},
"section":{"type":"string","minLength":1,"maxLength":300,"description":"for example page 3"}},
"required":["artifact"],"additionalProperties":false}`

const (
	// fileMost is the most bytes of a file that are read; stores keep no more.
	fileMost = 20 << 20
	// roomMost limits the text in one result, and headRoom the remarks about it.
	roomMost = 5 << 10
	headRoom = 1 << 10
)

// reading reads the files of a thread. It keeps nothing.
type reading struct{ reader document.Reader }

type arguments struct{ Artifact, Query, Lines, Section string }

// New makes the tool that reads more of a thread's artifacts: the model
// sees only the first lines of a long one.
func New() tools.Tool { return reading{document.NewReader()}.tool() }

func (d reading) tool() tools.Tool {
	t := tools.New("details", prose, parameters, d.run)
	t.Aliases, t.ReadOnly, t.Outside, t.Reads, t.Risk = []string{"read_artifact", "read_file", "open_file"}, true, true, true, tools.Auto
	return t
}

func (d reading) run(ctx context.Context, in tools.Input, arg arguments) (llm.Result, error) {
	if err := arg.check(); err != nil {
		return tools.Failed("%v", err), nil
	}
	file, ok := fileNamed(in.Files, arg.Artifact)
	if !ok {
		return tools.Failed("%s", noFile(in.Files, arg.Artifact)), nil
	}
	body, err := open(ctx, in.Desk, file)
	if err != nil {
		return tools.Failed("%s was not read: %v", tools.OneLine(file.Name, 200), err), tools.OperatorsPart(err)
	}
	p, err := reading{d.reader.For(in.Desk.Thread.String())}.read(ctx, file, body)
	if err != nil {
		return tools.Failed("%s was not read: %v", p.name, err), tools.OperatorsPart(err)
	}
	text, err := p.answer(arg)
	if err != nil {
		return tools.Failed("%v", err), nil
	}
	return llm.Result{Text: text}, nil
}

// check wants exactly one way to choose a part.
func (a arguments) check() error {
	given := 0
	for _, s := range []string{a.Query, a.Lines, a.Section} {
		if s != "" {
			given++
		}
	}
	if given > 1 {
		return tools.Refuse(`give only one of "query", "lines" and "section"`)
	}
	return nil
}

// fileNamed finds the newest file of a name, which a model may write in another
// letter case.
func fileNamed(files []chat.File, name string) (chat.File, bool) {
	name = strings.TrimSpace(name)
	for _, same := range []func(a, b string) bool{func(a, b string) bool { return a == b }, strings.EqualFold} {
		for _, f := range slices.Backward(files) {
			if same(f.Name, name) {
				return f, true
			}
		}
	}
	return chat.File{}, false
}

// noFile names the files that there are.
func noFile(files []chat.File, name string) string {
	if len(files) == 0 {
		return "there are no files in this conversation"
	}
	var names []string
	for _, f := range slices.Backward(files) {
		names = append(names, tools.OneLine(f.Name, 100))
	}
	return fmt.Sprintf("there is no file %q in this conversation; there are: %s", tools.OneLine(name, 100), listed(nearestFirst(names, name), 30))
}

// open gives the content of a file, or the beginning of its text where nothing
// else was kept.
func open(ctx context.Context, desk chat.Desk, f chat.File) ([]byte, error) {
	switch {
	case f.Size > fileMost:
		return nil, tools.Refuse("it has %s, and %s are the most", bytesOf(int(f.Size)), bytesOf(fileMost))
	case f.Blob == "" && f.Text != "":
		return []byte(f.Text), nil
	case f.Blob == "" || desk.Open == nil:
		return nil, tools.Refuse("its content was not kept; it may be too large, or could not be loaded when it was attached")
	}
	body, err := desk.Open(ctx, f)
	if err != nil {
		return nil, fmt.Errorf("it could not be opened; try again later: %w", err)
	}
	return body[:min(len(body), fileMost)], nil
}

// answer shows the chosen part.
func (p paper) answer(arg arguments) (string, error) {
	switch {
	case p.text == "":
		return p.about(), nil
	case arg.Query != "":
		return p.search(arg.Query), nil
	case arg.Section != "":
		s, ok := p.find(arg.Section)
		if !ok {
			return "", p.noSection(arg.Section)
		}
		from, to := p.bounds(s)
		return p.lines(fmt.Sprintf("%s, %q", p.name, p.sections[s].Title), from, to), nil
	case arg.Lines != "":
		from, to, err := readRange(arg.Lines, p.count)
		if err != nil {
			return "", err
		}
		return p.lines(p.name, from, to), nil
	}
	return p.about(), nil
}

// lineRange is how people write which lines they mean.
var lineRange = regexp.MustCompile(`(?i)^(?:lines?)?\s*l?(\d*)\s*(?:(-|–|:|\.\.|to)\s*l?(\d*))?$`)

// readRange understands "120-180", "120", "120-" and "-50", which are the last
// 50.
func readRange(text string, count int) (from, to int, err error) {
	m := lineRange.FindStringSubmatch(strings.TrimSpace(text))
	if m == nil || m[1] == "" && m[3] == "" {
		return 0, 0, tools.Refuse(`%q is no range of lines; write one such as "120-180"`, text)
	}
	number := func(digits string, otherwise int) int {
		n, err := strconv.Atoi(digits)
		if digits == "" || err != nil { // more digits than any file has lines
			return otherwise
		}
		return n
	}
	from, to = number(m[1], count+1), number(m[3], count)
	switch {
	case m[1] == "":
		from, to = max(count-to+1, 1), count
	case m[2] == "":
		to = from
	}
	from, to = max(from, 1), min(to, count)
	if from > count {
		return 0, 0, tools.Refuse("there is no line %s; the text has %d", m[1], count)
	}
	if from > to {
		return 0, 0, tools.Refuse("%q ends before it begins", text)
	}
	return from, to, nil
}

// nearestFirst sorts names by how like one they are.
func nearestFirst(names []string, name string) []string {
	far := map[string]int{}
	for _, n := range names {
		far[n] = edits.Letters(strings.ToLower(n), strings.ToLower(name))
	}
	return slices.SortedStableFunc(slices.Values(names), func(a, b string) int { return cmp.Compare(far[a], far[b]) })
}

// listed writes names one after another, up to some number of them.
func listed(names []string, most int) string {
	rest := len(names) - most
	text := strings.Join(names[:min(len(names), most)], ", ")
	if rest > 0 {
		text += fmt.Sprintf(" and %d more", rest)
	}
	return text
}

// bytesOf writes a size for people.
func bytesOf(n int) string {
	switch {
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%.1f KB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%d bytes", n)
}
