package agent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"nod/agent/thread"
	"nod/llm"
)

// An address can carry what was said here to somebody else, and so can a choice
// among addresses that somebody else made up. So in a tainted turn a call goes
// out by itself only to where a person sent it; and `fetch`, which would be of
// little use then, also to what a search listed, and to two addresses a turn
// that only other content named.

// freeFetches is how many addresses of a turn are fetched unasked that neither a
// person nor a search named.
const freeFetches = 2

// goesWhereTold says whether a call that changes nothing goes only to places
// that may be gone to unasked in a tainted turn.
func (d *decision) goesWhereTold(tool Tool, c *thread.Call) bool {
	for _, name := range tool.sending(c.Args) {
		values, all := tool.sent(c.Args, name)
		if !all || slices.ContainsFunc(values, func(v string) bool { return !d.personWrote(v) }) {
			return false
		}
	}
	return tool.Address == "" || d.mayFetch(tool, c)
}

// sending lists the parameters of a call whose values go to a place outside.
func (t Tool) sending(arguments string) (names []string) {
	if !slices.Contains(t.Sends, llm.Unnamed) {
		return t.Sends
	}
	var schema struct{ Properties map[string]json.RawMessage }
	var named map[string]json.RawMessage
	_ = json.Unmarshal(t.Parameters, &schema) // of a schema that can't be read nothing is named
	_ = json.Unmarshal([]byte(arguments), &named)
	for name := range named {
		if _, there := schema.Properties[name]; !there {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return append(names, t.Sends...)
}

// sent lists the values of a parameter, however deep they lie in it; all is false
// when they are not known, or are too many.
func (t Tool) sent(arguments, name string) (values []string, all bool) {
	var named map[string]json.RawMessage
	if json.Unmarshal([]byte(arguments), &named) != nil {
		return nil, false
	}
	raw, there := named[name]
	if !there {
		return nil, true
	}
	dec := json.NewDecoder(strings.NewReader(string(raw)))
	dec.UseNumber()
	var value any
	if dec.Decode(&value) != nil {
		return nil, false
	}
	if !slices.Contains(t.Sends, name) { // the model chose it
		values = append(values, name)
	}
	t.carried(&values, value, false)
	return values, len(values) < mostLeaves
}

// carried collects what of a value can carry something: texts and numbers, names that
// the tool's parameters don't have, and in a list each element, since many that can be
// but one thing or another carry as much as a text.
func (t Tool) carried(out *[]string, value any, listed bool) {
	if len(*out) >= mostLeaves {
		return
	}
	switch v := value.(type) {
	case map[string]any:
		for k, e := range v {
			if quoted, err := json.Marshal(k); err != nil || !bytes.Contains(t.Parameters, quoted) {
				*out = append(*out, k)
			}
			t.carried(out, e, listed)
		}
	case []any:
		for _, e := range v {
			t.carried(out, e, true)
		}
	default:
		text, isText := v.(string)
		if _, isNumber := v.(json.Number); !isText && (isNumber || listed) {
			text = fmt.Sprint(v)
		}
		if text != "" || listed {
			*out = append(*out, text)
		}
	}
}

// personWrote says whether a person of the thread wrote a value, as it is.
func (d *decision) personWrote(value string) bool {
	return value != "" && slices.ContainsFunc(d.personTexts(), func(text string) bool { return holds(text, value) })
}

// personTexts are what people wrote in the turns that are shown. A bot's words
// may be anybody's.
func (d *decision) personTexts() []string {
	var out []string
	for _, t := range d.s.Shown(d.s.Trim) {
		for _, m := range t.Live() {
			if !m.From.Bot && m.Form == nil { // of what stands in a form, most was there before
				out = append(out, m.Text)
			}
		}
	}
	return out
}

// Whose an address is.
type namedBy int

const (
	byNobody namedBy = iota
	byContent
	byTrusted // a person, or the list of a search
)

// mayFetch says whether an address may be opened unasked.
func (d *decision) mayFetch(tool Tool, c *thread.Call) bool {
	to := addressOf(c, tool)
	switch d.whoNamed(to) {
	case byTrusted:
		return true
	case byContent:
		at := slices.Index(d.strange(tool, c), to)
		return at >= 0 && at < freeFetches
	}
	return false
}

// strange lists the addresses of a turn up to a call that only other content
// named, each once.
func (d *decision) strange(tool Tool, upTo *thread.Call) []string {
	var out []string
	for _, st := range upTo.Turn.Steps {
		for _, c := range st.Calls {
			to := ""
			if c.Tool == tool.Name {
				to = addressOf(c, tool)
			}
			if to != "" && !slices.Contains(out, to) && d.whoNamed(to) == byContent {
				out = append(out, to)
			}
			if c == upTo {
				return out
			}
		}
	}
	return out
}

// whoNamed says where an address comes from. What the model had written before
// some content named it comes from the model: any tool that repeats what it is
// told would launder it.
func (d *decision) whoNamed(address string) namedBy {
	if address == "" {
		return byNobody
	}
	if slices.ContainsFunc(d.personTexts(), func(text string) bool { return personNamed(text, address) }) {
		return byTrusted
	}
	best := byNobody
	for _, t := range d.s.Shown(d.s.Trim) {
		for _, m := range t.Live() {
			if carriesAddress(m, address) && !d.modelWrote(address, m.Seq) {
				best = max(best, byContent)
			}
		}
		for _, st := range t.Steps {
			for _, c := range st.Calls {
				best = max(best, d.resultNames(c, address))
			}
		}
	}
	return best
}

// carriesAddress says whether the files or quotes of a message name an address.
func carriesAddress(m *thread.Message, address string) bool {
	for _, f := range m.Files {
		if holds(f.Text, address) {
			return true
		}
	}
	for _, q := range m.Quoted {
		if holds(q.Text, address) {
			return true
		}
	}
	return false
}

func (d *decision) resultNames(c *thread.Call, address string) namedBy {
	if c.Result == nil || c.Result.Origin != thread.Outside || !holds(c.Result.Text, address) || d.modelWrote(address, c.Run.Heard) {
		return byNobody
	}
	tool, _ := d.a.tool(c.Tool)
	switch {
	case tool.Reads && d.madeHere():
		return byNobody // it may read what the model had a program write
	case tool.Lists && listed(c.Result.Text, address):
		return byTrusted
	}
	return byContent
}

// madeHere says whether the thread holds a file that may be the model's own work.
func (d *decision) madeHere() bool {
	return slices.ContainsFunc(d.s.Artifacts, func(a *thread.Artifact) bool { return a.With == nil && !a.Outside })
}

// modelWrote says whether the model had written an address before an entry: as a
// word of its own, in arguments or as the name of a tool.
func (d *decision) modelWrote(address string, before uint64) bool {
	for _, t := range d.s.Shown(d.s.Trim) {
		for _, st := range t.Steps {
			if st.Seq >= before {
				continue
			}
			if strings.Contains(st.Thought, address) || strings.Contains(st.Answer, address) {
				return true
			}
			for _, c := range st.Calls {
				if writesAddress(c, address) {
					return true
				}
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

// hitLine begins a result of a search; the line behind it is its address.
var hitLine = regexp.MustCompile(`^\d+\. `)

// listed says whether a search lists an address as one of its results, and not
// only in the words of one.
func listed(text, address string) bool {
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		if hitLine.MatchString(l) && i+1 < len(lines) && strings.TrimSpace(lines[i+1]) == address {
			return true
		}
	}
	return false
}

// personNamed says whether a person named an address: as it is, or without what
// people leave out.
func personNamed(text, address string) bool {
	for _, form := range []string{address, strings.TrimSuffix(address, "/")} {
		_, bare, schemed := strings.Cut(form, "://")
		if holds(text, form) || schemed && holds(text, bare) {
			return true
		}
	}
	return false
}

// holds says whether a value stands in a text as a whole: not as the end of a
// longer word, and not as its beginning.
func holds(text, value string) bool {
	if value == "" {
		return false
	}
	for from := 0; ; {
		i := strings.Index(text[from:], value)
		if i < 0 {
			return false
		}
		at := from + i
		if beginsAt(text[:at]) && endsAt(text[at+len(value):]) {
			return true
		}
		from = at + 1
	}
}

const edges = "<>()[]{}\"'`,;|*“”‘’«»"

// beginsAt says whether a word can begin behind a text. People write @ and #
// before names.
func beginsAt(before string) bool {
	for _, mark := range []string{"@", "#"} {
		if rest, ok := strings.CutSuffix(before, mark); ok && !strings.HasSuffix(rest, mark) {
			return beginsAt(rest)
		}
	}
	r, _ := utf8.DecodeLastRuneInString(before)
	return before == "" || unicode.IsSpace(r) || strings.ContainsRune(edges, r) || r == ':'
}

// endsAt says whether a word can end before a text, at the end of a sentence too.
func endsAt(after string) bool {
	rest := strings.TrimLeft(after, ".!?:")
	r, _ := utf8.DecodeRuneInString(rest)
	switch {
	case rest == "" || unicode.IsSpace(r):
		return true
	case rest != after:
		return strings.ContainsRune(edges, r) && rest != ""
	}
	return strings.ContainsRune(edges, r)
}

// leaf is a value of arguments that holds no others, with the way to it.
type leaf struct{ name, text string }

// mostLeaves is how many values of a call are looked at.
const mostLeaves = 2000

// leaves lists the strings and numbers of arguments, in order of their names.
func leaves(raw json.RawMessage) []leaf {
	dec := json.NewDecoder(strings.NewReader(string(raw)))
	dec.UseNumber()
	var value any
	if dec.Decode(&value) != nil {
		return []leaf{{"", string(raw)}}
	}
	var out []leaf
	gather(&out, "", value)
	return out
}
