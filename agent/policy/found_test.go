package policy

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"nod/agent/thread"
	"nod/llm"
	"nod/llm/tokens"
)

// The 73 tools of three servers take at most 1,500 tokens of each prompt, and each of
// them is found whole.
func TestManyTools(t *testing.T) {
	t.Parallel()
	set := Set{Search()}
	for _, server := range []string{"github", "notion", "kubernetes"} {
		raw, err := os.ReadFile("../../tools/find/testdata/" + server + ".json")
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
			set = append(set, Tool{Server: server, Hidden: true, Risk: Ask, Tool: llm.Tool{Name: server + "_" + d.Name, Description: d.Description, Parameters: d.InputSchema}})
		}
	}
	log := thread.Read(nil)
	shown, servers := set.Shown(log, 0)
	size := tokens.New("gpt-4o").Count
	all, each := size(servers), 0
	for _, tool := range shown {
		all += size(tool.Name + tool.Description + string(tool.Parameters))
	}
	for _, tool := range set[1:] {
		each += size(tool.Name + tool.Description + string(tool.Parameters))
	}
	t.Logf("%d tokens, and %d where all are offered:%s", all, each, servers)
	if all > 1500 || len(shown) != 2 || len(set) != 74 {
		t.Errorf("%d definitions and the lines of %d tools take %d tokens", len(shown), len(set)-1, all)
	}
	for _, tool := range set[1:] {
		text, strange := set.Found(log, 0, fmt.Sprintf(`{"query":%q}`, tool.Name))
		if want := `{"name":"` + tool.Name + `","description":`; strange || !strings.Contains(text, want) {
			t.Errorf("%s is not found whole by its name", tool.Name)
		}
	}
}

// A tool that a person switched off, one that is never, and a tool of the search itself are
// no nearest names; nor does a server that nobody accepted choose words of the prompt.
func TestNearest(t *testing.T) {
	t.Parallel()
	tool := func(name string, risk Risk) Tool {
		return Tool{Server: "git", Hidden: true, Risk: risk, Tool: llm.Tool{Name: name}}
	}
	set := Set{Search(), tool("git_a", Ask), tool("git_b", Auto), tool("git_c", Never), tool("git_long_name", Ask), tool("git_ab", Auto)}
	set[2].Unaccepted = true
	near, strange := set.Nearest(thread.Read(nil), 0, "git_c")
	if got := strings.Join(near, " "); got != "git_a git_b git_ab" || !strange {
		t.Errorf("the nearest are %s, strange: %t", got, strange)
	}
	if got := set[1:].Servers(); got != "- git: 5 tools" {
		t.Errorf("the server is shown as %q", got)
	}
}
