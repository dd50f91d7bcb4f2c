package agent_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"nod/agent"
	"nod/agent/policy"
	"nod/agent/speak"
	"nod/llm"
	"nod/memory"
)

// trajectory is a question of the FEVER data set as a model answered it in the
// ReAct paper's own run: completion k and the observation that followed.
type trajectory struct {
	Question string
	Steps    []struct{ LLM, Obs string }
	Answer   string
	EM       bool
}

func trajectories(t *testing.T) []trajectory {
	t.Helper()
	f, err := os.Open("../../shared/data/react-fever.jsonl")
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("no recorded trajectories here")
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	var out []trajectory
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var tr trajectory
		if err := json.Unmarshal(lines.Bytes(), &tr); err != nil {
			t.Fatal(err)
		}
		out = append(out, tr)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

func wikipedia(t testing.TB) []policy.Tool {
	return []policy.Tool{
		textTool(t, llm.Tool{Name: "wikipedia_search", Description: "Finds a page.", Parameters: oneString("entity")}),
		textTool(t, llm.Tool{Name: "wikipedia_lookup", Description: "Finds a word on it.", Parameters: oneString("keyword")}),
	}
}

// Every trajectory of the paper's run is replayed: the completions run the
// calls that they meant, every prompt is the transcript up to there, and the
// answers are the paper's.
func TestNumberedReplaysFEVER(t *testing.T) {
	t.Parallel()
	matches, want, steps := 0, 0, 0
	for i, tr := range trajectories(t) {
		if tr.EM {
			want++
		}
		steps += len(tr.Steps)
		if replay(t, i, tr) == tr.Answer && tr.EM {
			matches++
		}
	}
	if matches != want {
		t.Errorf("exact match %d, want %d", matches, want)
	}
	t.Logf("%d steps, exact match %d", steps, matches)
}

// replay plays a trajectory and gives the answer.
func replay(t *testing.T, i int, tr trajectory) string {
	t.Helper()
	var meant []memory.Call
	transcript := "Question: " + tr.Question
	var prompts []string
	for k, st := range tr.Steps {
		prompts = append(prompts, fmt.Sprintf("%s\nThought %d:", transcript, k+1))
		call, line := means(t, k+1, st.LLM)
		if call.Tool != "" {
			meant = append(meant, call)
		}
		obs := st.Obs
		if call.Tool == "" && line == "Login[]" {
			obs = `There is no tool "Login". The tools are: wikipedia_search, wikipedia_lookup.`
		}
		thought, _, _ := strings.Cut(st.LLM, "\nAction")
		transcript += fmt.Sprintf("\n%s\nAction %d: %s\nObservation %[2]d: %[4]s", strings.TrimSpace(thought), k+1, line, obs)
	}
	th := &thread{t: t, agent: &agent.Agent{Protocol: speak.Numbered{}, MaxSteps: 7, Tools: wikipedia(t)}}
	th.model = func(n int) llm.Response {
		if n < len(tr.Steps) {
			return llm.Response{Text: tr.Steps[n].LLM, Finish: "stop"}
		}
		prompts = append(prompts, fmt.Sprintf("%s\nAction %d: Finish[", transcript, n+1))
		return llm.Response{Text: "]", Finish: "stop"} // after the paper's seven steps: Finish[]
	}
	th.observe = func(memory.Call) string { return tr.Steps[stepOf(tr, len(th.calls))].Obs }
	th.asks(tr.Question)
	for k, want := range prompts {
		if k < len(th.requests) && !strings.HasSuffix(last(th.requests[k]), want) {
			t.Errorf("trajectory %d: request %d does not end as it should:\n%s", i, k+1, cmp.Diff(want, last(th.requests[k])))
		}
	}
	grows(t, th.requests[:min(len(th.requests), len(tr.Steps))])
	if len(th.requests) != len(prompts) {
		t.Errorf("trajectory %d: %d model calls, want %d", i, len(th.requests), len(prompts))
	}
	for k := range th.calls {
		th.calls[k] = memory.Call{Tool: th.calls[k].Tool, Args: th.calls[k].Args}
	}
	if diff := cmp.Diff(meant, th.calls); diff != "" {
		t.Errorf("trajectory %d: calls (-want +got):\n%s", i, diff)
	}
	answer := strings.Join(th.answers, "\n")
	if answer != tr.Answer {
		t.Errorf("trajectory %d: answer %q, want %q", i, answer, tr.Answer)
	}
	return answer
}

var paperAction = regexp.MustCompile(`(?s)\nAction (\d+): (Search|Lookup|Finish)\[(.*)\]$`)

// means reads a completion as the paper's program did: the call, if there is
// one, and the action's line.
func means(t *testing.T, k int, completion string) (memory.Call, string) {
	t.Helper()
	m := paperAction.FindStringSubmatch(completion)
	if m == nil {
		if !strings.HasSuffix(completion, "Action 2: Login") {
			t.Fatalf("the paper's program could not read %q", completion)
		}
		return memory.Call{}, "Login[]"
	}
	if m[1] != fmt.Sprint(k) {
		t.Fatalf("action %s at step %d", m[1], k)
	}
	line := m[2] + "[" + m[3] + "]"
	args := map[string]string{"Search": "entity", "Lookup": "keyword"}[m[2]]
	if args == "" {
		return memory.Call{}, line
	}
	tool := map[string]string{"Search": "wikipedia_search", "Lookup": "wikipedia_lookup"}[m[2]]
	return memory.Call{Tool: tool, Args: fmt.Sprintf(`{%q:%s}`, args, jsonString(t, m[3]))}, line
}

func jsonString(t *testing.T, s string) string {
	t.Helper()
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(b.String())
}

// stepOf is the step of the n-th call that ran, from 1.
func stepOf(tr trajectory, n int) int {
	for k, st := range tr.Steps {
		if paperAction.MatchString(st.LLM) {
			n--
		}
		if n == 0 {
			return k
		}
	}
	return len(tr.Steps) - 1
}

func last(r llm.Request) string { return r.Messages[len(r.Messages)-1].Text }
