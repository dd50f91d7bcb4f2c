package mcp

import (
	"slices"
	"strings"
)

// State describes a server, for `bot check`.
type State struct {
	Server   string
	Err      error  // why it is not connected, in our own words; nil when it is
	Stderr   string // the last that its program wrote, where Err is not nil
	Accepted bool   // the lock file has it
	Offered  int    // how many tools it has, wanted or not; 0: not known
	Tools    []ToolState
	Idle     []string // patterns that fit none of its tools, by their key
}

// Status is how a tool stands to its pin.
type Status string

// The states of a tool. Only one that is Fine or Unchecked can be called.
const (
	Fine      Status = "fine"      // as it was accepted, or found at this start
	Unchecked Status = "unchecked" // accepted, and its server is not connected
	New       Status = "new"       // not accepted
	Changed   Status = "changed"   // other than accepted
	Gone      Status = "gone"      // accepted, and not offered
	Unusable  Status = "unusable"  // no model could call it
)

// ToolState describes a tool.
type ToolState struct {
	Name    string // the server's own
	As      string // the model's; empty where the model does not get it
	Status  Status
	Why     string   // why it is off; empty where it is on
	Changes []string // of a tool that changed, part by part
	Raised  string   // why its risk is more than the configuration says
}

// States gives the servers in the order of the configuration, and their tools by
// name.
func (ss *Servers) States() []State {
	if ss == nil {
		return nil
	}
	var out []State
	offered := offers(ss.list, ss.taken)
	for _, s := range ss.list {
		s.mu.Lock()
		st := State{Server: s.Name, Err: s.lost, Accepted: s.accepted, Tools: s.compare()}
		if s.live != nil {
			st.Offered, st.Idle = s.live.offered, s.live.idle
		}
		if s.live == nil && s.lost == nil {
			st.Err = ours("it is still starting")
		}
		if st.Err != nil {
			st.Stderr = s.stderr
		}
		s.mu.Unlock()
		for i, t := range st.Tools {
			for _, o := range offered {
				if o.s == s && o.d.Name == t.Name {
					st.Tools[i].As, st.Tools[i].Raised = o.as, o.raised
				}
			}
		}
		out = append(out, st)
	}
	return out
}

// Up says of each server whether it is connected.
func (ss *Servers) Up() map[string]bool {
	out := map[string]bool{}
	if ss == nil {
		return out
	}
	for _, s := range ss.list {
		s.mu.Lock()
		out[s.Name] = s.live != nil
		s.mu.Unlock()
	}
	return out
}

// compare compares the pins with the server's present tools. The caller holds the lock.
func (s *server) compare() []ToolState {
	var out []ToolState
	for _, pin := range s.pins {
		t := ToolState{Name: pin.Name, Status: Fine}
		d, offered := Definition{}, false
		if s.live != nil {
			d, offered = byName(s.live.tools, pin.Name)
		}
		_, unusable := pin.forModel()
		switch {
		case unusable != nil:
			t.Status, t.Why = Unusable, unusable.Error()
		case s.live == nil:
			t.Status = Unchecked
		case !offered:
			t.Status = Gone
		default:
			if t.Changes = changes(pin, d); len(t.Changes) > 0 {
				t.Status = Changed
			}
		}
		if t.Status == Gone || t.Status == Changed {
			t.Why = differs(pin, s.live.tools)
		}
		out = append(out, t)
	}
	if s.live != nil {
		for _, d := range s.live.tools {
			if _, pinned := byName(s.pins, d.Name); !pinned {
				out = append(out, ToolState{Name: d.Name, Status: New, Why: "nobody has accepted it"})
			}
		}
	}
	slices.SortFunc(out, func(a, b ToolState) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// Accept gives the lock that accepts the servers' present tools. It keeps the accepted
// tools of a server that is not connected, and drops servers that are no longer
// configured.
func (ss *Servers) Accept() *Lock {
	l := &Lock{About: about, Servers: map[string][]Definition{}}
	for _, s := range ss.list {
		s.mu.Lock()
		switch {
		case s.live != nil:
			l.Servers[s.Name] = slices.Clone(s.live.tools)
		case s.accepted:
			l.Servers[s.Name] = slices.Clone(s.pins)
		}
		s.mu.Unlock()
		slices.SortFunc(l.Servers[s.Name], func(a, b Definition) int { return strings.Compare(a.Name, b.Name) })
		if list, ok := l.Servers[s.Name]; ok && list == nil {
			l.Servers[s.Name] = []Definition{} // a server without tools, rather than null
		}
	}
	return l
}
