package agent

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"nod/agent/speak"
	"nod/agent/thread"
	"nod/llm"
	"nod/memory"
)

// Strategy is how a turn is thought through. Each is a small function of the
// log: it says what the next model call is for. All else (tools, approvals,
// messages that come meanwhile) is the same whichever it is.
type Strategy string

// The strategies.
const (
	Straight  Strategy = "react"     // act and observe until there is an answer
	Plan      Strategy = "plan"      // first a plan, then act along it
	Reflexion Strategy = "reflexion" // check the answer; reflect and try again (Shinn et al., 2023)
	Branch    Strategy = "branch"    // several drafts from different angles, then one answer of them
)

// prefixes let a message choose the strategy of the turn that it opens.
var prefixes = []struct {
	words string
	Strategy
}{{"plan:", Plan}, {"think harder:", Branch}}

// chosen parts a message that begins with a prefix into strategy and text.
func chosen(text string) (Strategy, string) {
	trimmed := strings.TrimSpace(text)
	for _, p := range prefixes {
		if len(trimmed) > len(p.words) && strings.EqualFold(trimmed[:len(p.words)], p.words) {
			return p.Strategy, strings.TrimSpace(trimmed[len(p.words):])
		}
	}
	return "", text
}

// opened is the entry that opens a turn with a message.
func (d *decision) opened(m *thread.Message) memory.Opened {
	how, _ := chosen(m.Text)
	if how == "" {
		how = d.a.Strategy
	}
	if _, ok := m.Order(); ok || how == Straight {
		how = ""
	}
	return memory.Opened{Turn: m.Seq, Name: d.name(m.Seq, m.Ref), Requester: m.From, Strategy: string(how)}
}

// phase is what a model call is for. The zero phase goes on with the turn.
type phase struct {
	kind   memory.StepKind
	branch int
}

// angles are what tells the drafts of a branched turn apart.
var angles = []string{
	"Work carefully: check every fact and every number with a tool where you can.",
	"Be sceptical: look for what is wrong with the obvious answer, and for what was left out of the question.",
	"Be practical: find the shortest way to an answer that helps.",
}

// nextPhase says what the turn's next model call is for.
func nextPhase(t *thread.Turn) phase {
	switch {
	case t.From != nil: // it goes on
	case Strategy(t.Strategy) == Plan && t.Of(memory.PlanStep) == nil:
		return phase{kind: memory.PlanStep}
	case t.Again != 0 && Strategy(t.Strategy) == Reflexion && t.Of(memory.ReflectStep) == nil:
		return phase{kind: memory.ReflectStep}
	case Strategy(t.Strategy) == Branch && solved(t) < len(angles):
		return phase{memory.SolveStep, solved(t) + 1}
	}
	return phase{}
}

// checks says whether a draft has to be checked before it is the answer.
func (d *decision) checks(t *thread.Turn) bool {
	last := t.LastStep()
	return Strategy(t.Strategy) == Reflexion && last.Phase == "" && len(t.Of(memory.ReflectStep)) < d.a.Retries
}

// solved counts the drafts that are written, or were given up.
func solved(t *thread.Turn) int {
	n := 0
	for _, st := range t.Of(memory.SolveStep) {
		if len(st.Calls) == 0 {
			n = max(n, st.Branch)
		}
	}
	return n
}

// limit is how many calls of a phase may use tools, and so far did.
func (d *decision) limit(t *thread.Turn, p phase) (most, used int) {
	if p.kind != memory.SolveStep {
		if Strategy(t.Strategy) == Branch {
			return max(1, d.a.MaxSteps/2), len(t.Of(""))
		}
		return d.a.MaxSteps, len(t.Of(""))
	}
	for _, st := range t.Of(memory.SolveStep) {
		if st.Branch == p.branch {
			used++
		}
	}
	return max(1, d.a.MaxSteps/2/len(angles)), used
}

// aside is a model call beside the conversation: it is shown what was said and
// done as text, and told what to write.
func (d *decision) aside(t *thread.Turn, p phase) llm.Request {
	order := textPlan + d.toolLines()
	if p.kind == memory.ReflectStep {
		order = textCheck
		if t.Again != 0 && t.Draft() == nil {
			order = textReflect
		}
	}
	var lines []string
	for _, items := range d.exchanges(d.s.Trim) {
		lines = append(lines, told(items)...)
	}
	if draft := t.Answer(); draft != "" {
		lines = append(lines, "Answer: "+draft)
	}
	text := strings.Join(lines, "\n")
	if d.a.Budget > 0 {
		text = speak.Clip(text, 3*d.a.Budget)
	}
	return llm.Request{Messages: []llm.Message{
		{Role: llm.System, Text: d.preamble().System},
		{Role: llm.User, Text: "The conversation so far:\n" + speak.Fence(text) + "\n\n" + order},
	}}
}

func (d *decision) toolLines() string {
	var b strings.Builder
	for _, t := range d.preamble().Tools {
		fmt.Fprintf(&b, "\n- %s: %s", t.Name, firstSentence(t.Description))
	}
	return b.String()
}

// passWord is the word with which a check begins that finds nothing wrong.
var passWord = regexp.MustCompile(`(?i)^\W*PASS\b`)

// beside is the entry for what such a call wrote. When it failed, the turn goes on
// without it.
func beside(c Call, r llm.Response, s memory.Step) memory.Step {
	s.Thought = strings.TrimSpace(r.Text)
	if s.Thought == "" {
		s.Failed = true
	}
	if c.Phase == memory.ReflectStep {
		s.Pass = s.Failed || passWord.MatchString(s.Thought)
	}
	return s
}

// Missed is the entry for a call that failed and that the turn can do without;
// ok is false when it can't.
func (a *Agent) Missed(log *Log, c Call) (s memory.Step, ok bool) {
	s = memory.Step{Turn: c.Turn, N: c.N, Seen: c.Seen, Phase: c.Phase, Branch: c.Branch, Failed: true, Taint: c.Taint}
	if c.Phase == "" {
		// A further try, when there is an answer of the first.
		t := log.state.Open
		if t == nil || t.Answer() == "" || len(t.Of(memory.ReflectStep)) == 0 {
			return s, false
		}
		s.Phase = memory.ReflectStep
	}
	s.Pass = s.Phase == memory.ReflectStep
	return s, true
}

// Shorter is the trim for a prompt that was too long for the model, which may take less
// than the budget: it leaves out a good part of what was sent. ok is false where nothing
// more can be left out. It lasts, so that what the model takes is tried out once; what is
// sent grows again with the conversation.
func (a *Agent) Shorter(log *Log, c Call) (cut memory.Trimmed, ok bool) {
	const share = 2. / 3 // of what was sent; a trim leaves less
	d := decision{a: a, s: log.state, log: log, branch: c.Branch}
	saved := *d.s
	defer func() { *d.s = saved }()
	for _, b := range c.Before {
		d.s.Add(memory.Entry{Seq: d.s.Last, At: d.s.Now, Body: b})
	}
	now := d.s.Trim
	p := d.preamble()
	p.Turns, p.Left = d.exchanges(now), leftText(d.s, now)
	whole := d.shape(p)
	cut = trim(whole, int(share*float64(whole.size(now))), now)
	cut.Clip = now.Clip // for as long as it is needed to fit the budget
	if same(cut, now) {
		return cut, false
	}
	d.s.Carry(&cut)
	return cut, true
}

// Overdrawn is the entry for a call that was not made, since a limit is reached. An
// answer that would only have been checked, or tried again, is the answer.
func (a *Agent) Overdrawn(log *Log, c Call, why string) memory.Body {
	if t := log.state.Open; t != nil && t.Answer() != "" {
		if s, ok := a.Missed(log, c); ok {
			return s
		}
	}
	return memory.Failed{Turn: c.Turn, Seen: c.Seen, Reason: why}
}

// phaseNotes are the items that a strategy adds to the current turn: what was
// planned, drafted or found wrong. runs says that the turn is of the current exchange.
func phaseNotes(t *thread.Turn, st *thread.Step, runs bool) []speak.Item {
	switch st.Phase {
	case memory.PlanStep:
		if runs && st.Thought != "" {
			return []speak.Item{{Said: textFollow + "\n" + st.Thought}}
		}
	case memory.ReflectStep:
		if st.Pass || st.Thought == "" {
			return nil
		}
		note := textLesson + "\n" + st.Thought
		if draft := answerBefore(t, st); runs && draft != "" {
			note = textTry + "\n" + speak.Fence(draft) + "\n" + note
		}
		return []speak.Item{{Said: note}}
	case memory.SolveStep:
		if runs && st.Branch == len(angles) && len(st.Calls) == 0 {
			return draftNotes(t)
		}
	}
	return nil
}

// answerBefore is the answer of the last try before a step.
func answerBefore(t *thread.Turn, st *thread.Step) string {
	i := slices.Index(t.Steps, st)
	for i--; i >= 0; i-- {
		if t.Steps[i].Phase == "" {
			return t.Steps[i].Answer
		}
	}
	return ""
}

// draftNotes shows what the branches came to.
func draftNotes(t *thread.Turn) []speak.Item {
	var b strings.Builder
	for _, st := range t.Of(memory.SolveStep) {
		if st.Answer != "" {
			fmt.Fprintf(&b, "\n\nDraft %d:\n%s", st.Branch, speak.Fence(st.Answer))
		}
	}
	if b.Len() == 0 {
		return nil
	}
	return []speak.Item{{Said: textMerge + b.String()}}
}

// doneMark matches the mark with which the model ticks off an item of its plan.
var doneMark = regexp.MustCompile(`\s*\[done (\d{1,2})\]`)

// planItem is a line of a plan.
var planItem = regexp.MustCompile(`(?m)^\s*(\d{1,2})[.)]\s+(.+)$`)

// checklist is the plan as people see it, with what is done ticked off.
func checklist(t *thread.Turn, plan string) string {
	ticked := map[int]bool{}
	for _, st := range t.Steps {
		for _, m := range doneMark.FindAllStringSubmatch(st.Thought+"\n"+st.Marks, -1) {
			n, _ := strconv.Atoi(m[1])
			ticked[n] = true
		}
	}
	lines := planItem.ReplaceAllStringFunc(plan, func(line string) string {
		m := planItem.FindStringSubmatch(line)
		n, _ := strconv.Atoi(m[1])
		box := "☐"
		if ticked[n] {
			box = "☑"
		}
		return fmt.Sprintf("%s %d. %s", box, n, m[2])
	})
	return "Plan:\n" + lines
}

// unmarked takes the marks out of an answer.
func unmarked(answer string) (text, marks string) {
	found := doneMark.FindAllString(answer, -1)
	if len(found) == 0 {
		return answer, ""
	}
	return strings.TrimSpace(doneMark.ReplaceAllString(answer, "")), strings.TrimSpace(strings.Join(found, ""))
}

// shownThought is what a step shows of its thinking.
func shownThought(t *thread.Turn, st *thread.Step) string {
	switch {
	case st.By != nil && t.Origin() != nil:
		return ranAgainText(t)
	case st.By != nil:
		return "Run by " + st.By.Display() + "."
	case st.Failed:
		return fmt.Sprintf("(The call for the %s failed; going on without it.)", phaseWords[st.Phase])
	case st.Phase == memory.PlanStep:
		return checklist(t, st.Thought)
	case st.Phase == memory.ReflectStep && st.Pass:
		return "Checked: nothing is wrong."
	case st.Phase == memory.ReflectStep:
		return "Reflection: " + st.Thought
	case st.Phase == memory.SolveStep:
		return fmt.Sprintf("Draft %d of %d: %s", st.Branch, len(angles), strings.TrimSpace(st.Thought+"\n"+st.Answer))
	}
	return strings.TrimSpace(doneMark.ReplaceAllString(st.Thought, ""))
}

var phaseWords = map[memory.StepKind]string{
	memory.PlanStep: "plan", memory.ReflectStep: "check", memory.SolveStep: "draft",
}

// thinkingStatus is the status while a model call runs.
func thinkingStatus(s *thread.Thread, t *thread.Turn) string {
	switch p := nextPhase(t); p.kind {
	case memory.PlanStep:
		return "Planning"
	case memory.ReflectStep:
		return "Reflecting"
	case memory.SolveStep:
		return fmt.Sprintf("Writing draft %d of %d", p.branch, len(angles))
	}
	return "Thinking"
}
