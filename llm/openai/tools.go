package openai

import (
	"crypto/sha256"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"nod/llm"
)

// shelf holds the tools that a provider refuses. One refused tool must not cost every
// answer: it is left out from then on. Its definition identifies it, so a mended tool
// is offered again.
type shelf struct {
	refused map[[sha256.Size]byte]bool
	most    int // how many it takes; 0: as many as there are
}

func definition(t llm.Tool) [sha256.Size]byte {
	return sha256.Sum256([]byte(t.Name + "\x00" + t.Description + "\x00" + string(t.Parameters)))
}

// offered are the tools that the provider is known to take, in their order.
func (m *Model) offered(tools []llm.Tool) []llm.Tool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.shelf.refused) == 0 && m.shelf.most == 0 { // nearly always
		return tools
	}
	var out []llm.Tool
	for _, t := range tools {
		if m.shelf.refused[definition(t)] || m.shelf.most > 0 && len(out) == m.shelf.most {
			continue
		}
		out = append(out, t)
	}
	return out
}

var (
	// toolIndex is where a refusal says which tool it does not like; Gemini
	// counts inside of its one tool.
	toolIndex = []*regexp.Regexp{regexp.MustCompile(`function_declarations\[(\d+)\]`), regexp.MustCompile(`\btools[\[. ](\d+)\b`)}
	toolName  = regexp.MustCompile(`(?:function|tool) ["'\x60]([A-Za-z0-9_-]{1,64})["'\x60]`)
	tooMany   = regexp.MustCompile(`\btools\b.{0,80}\bmaximum (?:length|number)\D{0,20}(\d+)|\b(?:at most|maximum of|more than|limit of) (\d+) tools\b`)
)

// shun takes note of the tool, or the number of tools, that a refusal
// is about, and reports whether the call is worth making again. sent are the
// tools that the refused call offered.
func (m *Model) shun(f *failure, sent []llm.Tool) bool {
	switch f.public.Status {
	case http.StatusBadRequest, http.StatusUnprocessableEntity:
	default:
		return false
	}
	if len(sent) == 0 || f.public.Fault != llm.Refused {
		return false
	}
	if n := most(f.said); n > 0 && n < len(sent) {
		m.mu.Lock()
		m.shelf.most = n
		m.mu.Unlock()
		for _, t := range sent[n:] {
			m.o.Logger.Warn("tool left out", "tool", t.Name, "error", "the provider takes no more than "+strconv.Itoa(n)+" tools")
		}
		return true
	}
	t, ok := meant(f.said, sent)
	if !ok {
		return false
	}
	m.mu.Lock()
	m.shelf.refused[definition(t)] = true
	m.mu.Unlock()
	m.o.Logger.Warn("tool left out", "tool", t.Name, "error", f.public.Message)
	return true
}

// meant is the tool that a refusal names, by its place or by its name.
func meant(said wireError, sent []llm.Tool) (llm.Tool, bool) {
	for _, text := range []string{said.Param, said.Message} {
		for _, index := range toolIndex {
			if i, ok := place(index, text); ok && i < len(sent) {
				return sent[i], true
			}
		}
	}
	for _, found := range toolName.FindAllStringSubmatch(said.Message, -1) {
		for _, t := range sent {
			if t.Name == found[1] && schemaWords.MatchString(said.words()) {
				return t, true
			}
		}
	}
	return llm.Tool{}, false
}

// schemaWords tell a definition that is refused from a call that is.
var schemaWords = regexp.MustCompile(`schema|parameters|definition|description|invalid_function`)

// most is how many tools a provider takes, where a refusal says so.
func most(said wireError) int {
	n, _ := place(tooMany, strings.ToLower(said.Message))
	return n
}

// place is the first number that an expression captures.
func place(of *regexp.Regexp, text string) (int, bool) {
	found := of.FindStringSubmatch(text)
	for _, s := range found[min(1, len(found)):] {
		if n, err := strconv.Atoi(s); err == nil {
			return n, true
		}
	}
	return 0, false
}
