package agent

import (
	"fmt"
	"strconv"
	"strings"

	"nod/agent/phrase"
	"nod/agent/thread"
	"nod/chat"
	"nod/memory"
)

// revoking notes what was revoked, for the audit log.
func (d *decision) revoking() Action {
	var out []memory.Body
	for _, r := range d.s.Approvals.Revokes {
		out = append(out, r)
	}
	if len(out) == 0 {
		return nil
	}
	return Record{out}
}

// grantList answers `grants`.
func (d *decision) grantList() string {
	var b strings.Builder
	for _, g := range d.s.Approvals.Grants {
		if !g.Holds(d.s.Now) {
			continue
		}
		fmt.Fprintf(&b, "- %d: `%s` %s, %s, by %s\n", g.Number, g.Tool, phrase.Code(g.Args), grantTerms(g), chat.Names(g.By))
	}
	if b.Len() == 0 {
		return "Nothing is allowed for a while in this thread."
	}
	return "Allowed in this thread without another approval:\n\n" + b.String() + "\n`revoke N` ends one."
}

func grantTerms(g *thread.Grant) string {
	return fmt.Sprintf("until %s, %d more %s", g.Until.UTC().Format("2 Jan 15:04 UTC"), g.Left(), phrase.Plural(g.Left(), "time"))
}

// allowedReply answers `allow`.
func (d *decision) allowedReply(c *thread.Command) string {
	v, judged := d.s.Approvals.Allows[c.Seq]
	call := d.s.Calls[v.Call]
	switch {
	case !judged || call == nil:
		return "That approval is over."
	case !v.Counts:
		return "That does not count: " + v.Reason + "."
	}
	if g := d.s.Grant(call.Asked.Number); g != nil {
		return fmt.Sprintf("Allowed in this thread: `%s` %s, %s. `grants` lists it, `revoke %d` ends it.", g.Tool, phrase.Code(g.Args), grantTerms(g), g.Number)
	}
	return "It counts as an approval. As many different people as have to approve have to allow it for a while."
}

// revokedReply answers `revoke`.
func (d *decision) revokedReply(arg string) string {
	if n, err := strconv.Atoi(arg); err == nil && d.s.Grant(n) != nil {
		return fmt.Sprintf("Revoked: what %d allowed asks again.", n)
	}
	return "There is nothing that was allowed under this number. `grants` lists what is."
}
