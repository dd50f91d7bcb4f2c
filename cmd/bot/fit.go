package main

import (
	"errors"
	"fmt"
	"slices"

	"nod/agent"
	"nod/agent/policy"
	"nod/cmd/bot/config"
	"nod/llm"
	"nod/tools"
)

// mostTools is how many tools most providers take in a request.
const mostTools = 128

// fitting makes the agent with the tools that its prompts have room for. A server chooses
// its own tools, and must not keep the bot from starting. So the tools of the largest one
// are found by search; where the file wants no search they are left out, with a log line.
func fitting(cfg *config.Config, k *kit) (*agent.Agent, error) {
	for {
		a, err := newAgent(cfg, k)
		if a == nil {
			return nil, err
		}
		tight := errors.Is(err, errTight)
		if err != nil && !tight {
			return nil, err
		}
		many := len(a.Tools)-len(hidden(a.Tools)) > mostTools
		if !tight && !many {
			return a, nil
		}
		size := func(t policy.Tool) int { return tokensOf(a, t.Tool) }
		if !tight {
			size = func(policy.Tool) int { return 1 }
		}
		server, list, tokens := largest(a, size)
		switch {
		case server == "" && tight:
			return nil, err
		case server == "":
			return a, nil
		case a.Tools.Searched():
			k.concealed = append(k.concealed, server)
			continue
		}
		why := fmt.Sprintf("its %d tools take %d tokens of each prompt, and there is no room for them; choose some with tools, remove find: never, or raise memory.budget_tokens", len(list), tokens)
		if !tight {
			why = fmt.Sprintf("with its %d tools there are more than the %d that most providers take; choose some with tools, or remove find: never", len(list), mostTools)
		}
		if err := k.leaveOut(server, list, why); err != nil {
			return nil, err
		}
	}
}

// hide has the model find the tools of servers by search, where their definitions are too
// many for each prompt. What the file wants to be shown stays, where there is room for it.
func (k *kit) hide(cfg *config.Config, a *agent.Agent) {
	if cfg.Tools.Find == config.FindNever || cfg.Tools.Find != config.FindAlways && !tooMany(a) {
		return
	}
	stays := map[string]bool{}
	for _, t := range k.list {
		stays[t.Name] = t.Server == "" || t.Shown && !slices.Contains(k.concealed, t.Server)
	}
	for i, t := range a.Tools {
		a.Tools[i].Hidden = t.Server != "" && !stays[t.Name]
	}
	if len(hidden(a.Tools)) > 0 {
		a.Tools = append(a.Tools, policy.Search())
	}
}

// tooMany says whether definitions take more than a quarter of a prompt, or are more than
// most providers take. They are counted only where their length leaves a doubt.
func tooMany(a *agent.Agent) bool {
	bytes, tokens := 0, 0
	for _, t := range a.Tools {
		bytes += len(t.Name) + len(t.Description) + len(t.Parameters)
	}
	if a.Budget <= 0 || bytes/2 <= a.Budget/4 { // a token of such a text has at least two bytes
		return len(a.Tools) > mostTools
	}
	for _, t := range a.Tools {
		tokens += tokensOf(a, t.Tool)
	}
	return len(a.Tools) > mostTools || tokens > a.Budget/4
}

// hidden lists the tools that the model finds by search.
func hidden(all policy.Set) (out policy.Set) {
	for _, t := range all {
		if t.Hidden {
			out = append(out, t)
		}
	}
	return out
}

// tokensOf is about how much of each prompt a tool takes.
func tokensOf(a *agent.Agent, t llm.Tool) int {
	return a.Count(t.Name + t.Description + string(t.Parameters))
}

// largest is the server whose tools in the prompt are the most by some measure, and how
// many tokens they take; "" where no server has any there.
func largest(a *agent.Agent, size func(policy.Tool) int) (server string, list policy.Set, tokens int) {
	sizes, of := map[string]int{}, map[string]policy.Set{}
	for _, t := range a.Tools {
		if t.Server != "" && !t.Hidden {
			sizes[t.Server] += size(t)
			of[t.Server] = append(of[t.Server], t)
		}
	}
	for s, n := range sizes {
		if server == "" || n > sizes[server] || n == sizes[server] && s < server {
			server = s
		}
	}
	for _, t := range of[server] {
		tokens += tokensOf(a, t.Tool)
	}
	return server, of[server], tokens
}

// leaveOut takes the tools of a server out of the kit.
func (k *kit) leaveOut(server string, list policy.Set, why string) error {
	for _, t := range list {
		delete(k.rules, t.Name)
	}
	k.list = slices.DeleteFunc(k.list, func(t tools.Tool) bool { return t.Server == server })
	k.left = append(k.left, offTool{server, why})
	return k.rebox()
}

// rebox puts the tools that there are now into a new box.
func (k *kit) rebox() error {
	box, err := tools.NewBox(k.list...)
	if err != nil {
		return err
	}
	box.Mask = k.box.Mask
	k.box = box
	return nil
}
