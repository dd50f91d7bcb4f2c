package find

import (
	"bufio"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"nod/llm"
)

// everyday are the tools of three servers that people connect every day, by the names
// that the model gets.
func everyday(t testing.TB) []llm.Tool {
	t.Helper()
	var out []llm.Tool
	for _, server := range []string{"github", "notion", "kubernetes"} {
		raw, err := os.ReadFile("testdata/" + server + ".json")
		if err != nil {
			t.Fatal(err)
		}
		var list []struct {
			Name, Description string
			InputSchema       json.RawMessage
		}
		if err := json.Unmarshal(raw, &list); err != nil {
			t.Fatal(err)
		}
		for _, d := range list {
			out = append(out, llm.Tool{Name: server + "_" + d.Name, Description: d.Description, Parameters: d.InputSchema})
		}
	}
	return out
}

// At least 95 of 100 questions in words of people find their tool among the first eight.
// The search may be changed by the first file only.
func TestTools(t *testing.T) {
	t.Parallel()
	for file, least := range map[string]int{"tuning.tsv": 95, "measure.tsv": 95} {
		found, missed := asked(t, everyday(t), file)
		if found < least {
			t.Errorf("%s: %d of 100 are found:\n%s", file, found, strings.Join(missed, "\n"))
		}
		t.Logf("%s: %d of 100", file, found)
	}
}

// asked counts the questions of a file that find their tool.
func asked(t *testing.T, list []llm.Tool, file string) (found int, missed []string) {
	t.Helper()
	f, err := os.Open("testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		tool, question, _ := strings.Cut(lines.Text(), "\t")
		hits := Tools(list, question)
		at := slices.IndexFunc(hits, func(h llm.Tool) bool { return h.Name == tool })
		if at >= 0 && at < 8 {
			found++
			continue
		}
		missed = append(missed, lines.Text())
	}
	return found, missed
}

// Each tool is found by its own name, and the same words find the same.
func TestByName(t *testing.T) {
	t.Parallel()
	list := everyday(t)
	for _, want := range list {
		hits := Tools(list, want.Name)
		if len(hits) == 0 || !slices.ContainsFunc(hits[:min(3, len(hits))], func(h llm.Tool) bool { return h.Name == want.Name }) {
			t.Errorf("%s is not found by its name", want.Name)
		}
		again := Tools(list, want.Name)
		if !slices.EqualFunc(hits, again, func(a, b llm.Tool) bool { return a.Name == b.Name }) {
			t.Errorf("%s: the same words find something else", want.Name)
		}
	}
	if hits := Tools(list, "zzz, or"); len(hits) > 0 {
		t.Errorf("nothing fits, and %d are found", len(hits))
	}
	if hits := Tools(nil, "issue"); hits == nil || len(hits) > 0 {
		t.Errorf("without tools: %v", hits)
	}
}

func BenchmarkTools(b *testing.B) {
	list := everyday(b)
	for b.Loop() {
		Tools(list, "which issues are open in our repository?")
	}
}
