package agent

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"nod/agent/thread"
	"nod/llm/args"
)

// bound names what an approval is bound to: the tool, all that says what the tool
// is, exactly these arguments, and what its preview came to. It is keyed, since it
// stands in logs, and most calls could be guessed.
func (d *decision) bound(c *thread.Call) string {
	return c.Bind(d.a.digest)
}

func (a *Agent) digest(c *thread.Call) string {
	tool, _ := a.tool(c.Tool)
	h := hmac.New(sha256.New, a.Key)
	parts := []string{
		c.Tool, tool.Description, string(args.Canonical(tool.Parameters)), tool.Definition, string(args.Canonical(json.RawMessage(c.Args))),
	}
	if c.Preview.Bound != nil {
		parts = append(parts, c.Preview.Bound.Sum)
	}
	for _, part := range parts {
		_, _ = fmt.Fprintf(h, "%d:%s", len(part), part) // a hash never returns an error
	}
	return hex.EncodeToString(h.Sum(nil))
}
