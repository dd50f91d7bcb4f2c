package lab

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"nod/agent/phrase"
	"nod/chat"
	"nod/edits"
	"nod/llm"
	"nod/llm/args"
	"nod/memory"
)

// Report is the result of a replay, for other programs.
type Report struct {
	Turns  int          `json:"turns"`
	Same   int          `json:"same"`
	Differ []Difference `json:"differ"`
	Old    Total        `json:"old"`
	New    Total        `json:"new"`

	free []freed
}

// Total is of all turns together.
type Total struct {
	Asked int     `json:"asked"` // approvals
	Cost  float64 `json:"cost"`
}

// Difference is a turn as it was and as it would have been.
type Difference struct {
	Thread string   `json:"thread"`
	Turn   uint64   `json:"turn"`
	What   []string `json:"what"` // calls, arguments, approvals, answer
	Old    Outcome  `json:"old"`
	New    Outcome  `json:"new"`

	weight int
}

// Outcome is the result of a turn. Asked counts approvals, and Unasked the calls that
// can change something and ran without one.
type Outcome struct {
	Calls   []Call  `json:"calls"`
	Asked   int     `json:"asked"`
	Unasked int     `json:"unasked"`
	Answer  string  `json:"answer"`
	Tokens  Tokens  `json:"tokens"`
	Cost    float64 `json:"cost"`

	usage llm.Usage
	asked map[string]bool // digests
	free  []Free
}

// Call is a tool call. Arguments that are no JSON are a string.
type Call struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// Tokens are the tokens of model calls; Input holds Cached.
type Tokens struct {
	Input  int `json:"input"`
	Cached int `json:"cached"`
	Output int `json:"output"`
}

// Free is a call that can change something and runs unasked. Held says that it asked or
// was refused then; Decided is people's decision.
type Free struct {
	Call    Call
	Held    bool
	Decided memory.Decided
}

// freed is such a call with its turn.
type freed struct {
	Free
	thread string
	turn   uint64
}

func callOf(c memory.Call) Call {
	raw := args.Canonical(json.RawMessage(c.Args))
	if !json.Valid(raw) {
		raw, _ = json.Marshal(c.Args) // a string always can be
	}
	return Call{c.Tool, raw}
}

func (c Call) String() string { return c.Name + " " + string(c.Arguments) }

func (o *Outcome) call(c memory.Call) { o.Calls = append(o.Calls, callOf(c)) }

func (o *Outcome) countAsk(digest string) {
	o.add(Outcome{Asked: 1, asked: map[string]bool{digest: true}})
}

func (o *Outcome) unask(f Free) { o.add(Outcome{Unasked: 1, free: []Free{f}}) }

// add adds the outcome of a further step.
func (o *Outcome) add(more Outcome) {
	o.Calls = append(o.Calls, more.Calls...)
	o.Asked += more.Asked
	o.Unasked += more.Unasked
	o.free = append(o.free, more.free...)
	o.usage = sum(o.usage, more.usage)
	if o.asked == nil {
		o.asked = map[string]bool{}
	}
	maps.Copy(o.asked, more.asked)
}

// compare lists the differences, with their sizes.
func (d *Difference) compare() {
	for _, o := range []*Outcome{&d.Old, &d.New} {
		o.Tokens = Tokens{Input: o.usage.Prompt, Cached: o.usage.Cached, Output: o.usage.Completion}
		if o.Calls == nil {
			o.Calls = []Call{}
		}
	}
	what := func(name string, weight int) {
		d.What = append(d.What, name)
		d.weight += weight
	}
	names, whole := func(c Call) string { return c.Name }, Call.String
	if n := apartBy(d.Old.Calls, d.New.Calls, names); n > 0 {
		what("calls", 100*n)
	} else if n := apartBy(d.Old.Calls, d.New.Calls, whole); n > 0 {
		what("arguments", 30*n)
	}
	if !maps.Equal(d.Old.asked, d.New.asked) || d.Old.Asked != d.New.Asked || d.Old.Unasked != d.New.Unasked {
		what("approvals", 50*max(1, apart(d.Old.Asked, d.New.Asked)+apart(d.Old.Unasked, d.New.Unasked)))
	}
	if d.Old.Answer != d.New.Answer {
		what("answer", 1+unlike(d.Old.Answer, d.New.Answer))
	}
}

func apart(a, b int) int { return max(a-b, b-a) }

// apartBy is how many calls have to be changed to make one list of the other.
func apartBy(a, b []Call, key func(Call) string) int {
	keys := func(calls []Call) (out []string) {
		for _, c := range calls {
			out = append(out, key(c))
		}
		return out
	}
	return edits.Between(keys(a), keys(b))
}

// unlike is how many of 100 words of two texts are in one of them only.
func unlike(a, b string) int {
	words := map[string]int{}
	for _, w := range strings.Fields(strings.ToLower(a)) {
		words[w] |= 1
	}
	for _, w := range strings.Fields(strings.ToLower(b)) {
		words[w] |= 2
	}
	alone := 0
	for _, in := range words {
		if in != 3 {
			alone++
		}
	}
	return 100 * alone / max(1, len(words))
}

// Add takes a turn into the report.
func (r *Report) Add(d Difference) {
	r.Turns++
	r.Old.Asked += d.Old.Asked
	r.New.Asked += d.New.Asked
	r.Old.Cost += d.Old.Cost
	r.New.Cost += d.New.Cost
	for _, f := range d.New.free {
		r.free = append(r.free, freed{f, d.Thread, d.Turn})
	}
	if len(d.What) == 0 {
		r.Same++
		return
	}
	r.Differ = append(r.Differ, d)
}

// Sort puts the largest differences first.
func (r *Report) Sort() {
	slices.SortStableFunc(r.Differ, func(a, b Difference) int {
		return cmp.Or(cmp.Compare(b.weight, a.weight), cmp.Compare(a.Thread, b.Thread), cmp.Compare(a.Turn, b.Turn))
	})
	slices.SortStableFunc(r.free, func(a, b freed) int {
		return cmp.Or(cmp.Compare(rank(a.Free), rank(b.Free)), cmp.Compare(a.thread, b.thread), cmp.Compare(a.turn, b.turn))
	})
}

// rank puts denied calls first.
func rank(f Free) int {
	switch f.Decided.Outcome {
	case chat.Denied:
		return 0
	case chat.Expired, chat.Cancelled:
		return 1
	}
	return 2
}

// JSON writes the form that other programs read.
func (r *Report) JSON(w io.Writer) error {
	if r.Differ == nil {
		r.Differ = []Difference{}
	}
	return json.NewEncoder(w).Encode(r)
}

// mostShown is how many turns the text shows.
const mostShown = 50

// Text writes the report for people.
func (r *Report) Text(w io.Writer, mode Mode) error {
	b := &strings.Builder{}
	fmt.Fprintf(b, "%d turns: %d the same, %d differ\n", r.Turns, r.Same, len(r.Differ))
	if mode == Rules {
		fmt.Fprintf(b, "would have asked %d times instead of %d\n", r.New.Asked, r.Old.Asked)
	} else {
		fmt.Fprintf(b, "approvals asked: %d instead of %d\n", r.New.Asked, r.Old.Asked)
	}
	if mode != Rules && r.Old.Cost+r.New.Cost > 0 {
		fmt.Fprintf(b, "cost, at the prices of this file: %.4f instead of %.4f\n", r.New.Cost, r.Old.Cost)
	}
	r.unasked(b)
	for i, d := range r.Differ {
		if i == mostShown {
			fmt.Fprintf(b, "\n… and %d more; --json lists all\n", len(r.Differ)-i)
			break
		}
		d.text(b, mode)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// unasked lists calls that would run unasked, and asked then.
func (r *Report) unasked(b *strings.Builder) {
	held := slices.DeleteFunc(slices.Clone(r.free), func(f freed) bool { return !f.Held })
	if len(held) == 0 {
		b.WriteString("nothing that was asked for or refused would have run unasked\n")
		return
	}
	fmt.Fprintf(b, "%d %s would have run unasked:\n", len(held), phrase.Plural(len(held), "call"))
	for _, f := range held {
		fmt.Fprintf(b, "  %s turn %d: %s%s\n", f.thread, f.turn, chat.Exact(clip(f.Call.String())), was(f.Decided))
	}
}

func was(d memory.Decided) string {
	if d.Outcome == "" {
		return " (did not run)"
	}
	var names []string
	for _, u := range d.By {
		names = append(names, clip(u.Display()))
	}
	said := " (was " + strings.ToLower(string(d.Outcome))
	if len(names) > 0 {
		said += " by " + strings.Join(names, ", ")
	}
	return said + ")"
}

func (d *Difference) text(b *strings.Builder, mode Mode) {
	fmt.Fprintf(b, "\n%s turn %d: %s\n", d.Thread, d.Turn, strings.Join(d.What, ", "))
	if slices.Contains(d.What, "calls") || slices.Contains(d.What, "arguments") {
		fmt.Fprintf(b, "  old calls: %s\n  new calls: %s\n", called(d.Old.Calls), called(d.New.Calls))
	}
	if slices.Contains(d.What, "approvals") {
		fmt.Fprintf(b, "  asked %d instead of %d; unasked %d instead of %d\n", d.New.Asked, d.Old.Asked, d.New.Unasked, d.Old.Unasked)
	}
	if slices.Contains(d.What, "answer") {
		fmt.Fprintf(b, "  old answer: %s\n  new answer: %s\n", cmp.Or(clip(d.Old.Answer), "none"), cmp.Or(clip(d.New.Answer), "none"))
	}
	if mode != Rules && d.Old.Tokens != d.New.Tokens {
		fmt.Fprintf(b, "  tokens: %d in, %d out instead of %d in, %d out\n", d.New.Tokens.Input, d.New.Tokens.Output, d.Old.Tokens.Input, d.Old.Tokens.Output)
	}
}

// clip is the beginning of a text, on one line, without control characters of a
// terminal: a model repeats strangers' text.
func clip(text string) string {
	const most = 300
	r := []rune(strings.Join(strings.Fields(text), " "))
	if len(r) > most {
		return chat.Visible(string(r[:most])) + "…"
	}
	return chat.Visible(string(r))
}
