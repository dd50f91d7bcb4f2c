package fakeslack

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Drawn lists the visible parts of a message's markdown blocks besides paragraphs:
// tables, which Slack draws itself, as "table 2x3", and code, with the word behind its
// fence, which Slack shows as content.
func Drawn(blocks json.RawMessage) []string {
	var all []struct{ Type, Text string }
	if json.Unmarshal(blocks, &all) != nil {
		return nil
	}
	var out []string
	for _, b := range all {
		if b.Type == "markdown" {
			out = append(out, drawn(strings.Split(b.Text, "\n"))...)
		}
	}
	return out
}

// drawn goes through the lines of one block.
func drawn(lines []string) []string {
	var out []string
	for i := 0; i < len(lines); i++ {
		word, code := strings.CutPrefix(lines[i], "```")
		if !code {
			if columns := strings.Count(lines[i], "|") - 1; columns > 0 && i+1 < len(lines) && strings.Trim(lines[i+1], "|-: ") == "" && strings.Contains(lines[i+1], "-") {
				rows := 1
				for i += 2; i < len(lines) && strings.Contains(lines[i], "|"); i++ {
					rows++
				}
				out = append(out, fmt.Sprintf("table %dx%d", rows, columns))
			}
			continue
		}
		shown := []string{}
		if word = strings.TrimSpace(word); word != "" {
			shown = append(shown, word)
		}
		for i++; i < len(lines) && !strings.HasPrefix(lines[i], "```"); i++ {
			shown = append(shown, lines[i])
		}
		out = append(out, strings.Join(shown, "\n"))
	}
	return out
}
