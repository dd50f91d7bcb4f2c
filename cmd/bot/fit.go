package main

import (
	"errors"
	"fmt"
	"slices"

	"nod/agent"
	"nod/cmd/bot/config"
	"nod/llm"
	"nod/tools"
)

// mostTools is how many tools most providers take in a request.
const mostTools = 128

// fitting makes the agent with the tools of as many servers as its prompts have room
// for. A server chooses its own tools, and must not keep the bot from starting. So the
// largest one is left out, with a log line.
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
		many := len(a.Tools) > mostTools
		if !tight && !many {
			return a, nil
		}
		size := func(t tools.Tool) int { return tokensOf(a, t.Tool) }
		if !tight {
			size = func(tools.Tool) int { return 1 }
		}
		server, list, tokens := k.largest(a, size)
		switch {
		case server == "" && tight:
			return nil, err
		case server == "":
			return a, nil
		}
		why := fmt.Sprintf("its %d tools take %d tokens of each prompt, and there is no room for them; choose some with tools, or raise memory.budget_tokens", len(list), tokens)
		if !tight {
			why = fmt.Sprintf("with its %d tools there are more than the %d that most providers take; choose some with tools", len(list), mostTools)
		}
		if err := k.leaveOut(server, list, why); err != nil {
			return nil, err
		}
	}
}

// tokensOf is about how much of each prompt a tool takes.
func tokensOf(a *agent.Agent, t llm.Tool) int {
	return a.Count(t.Name + t.Description + string(t.Parameters))
}

// largest is the server whose tools are the most by some measure, and how many
// tokens they take; "" where no server has any.
func (k *kit) largest(a *agent.Agent, size func(tools.Tool) int) (server string, list []tools.Tool, tokens int) {
	sizes, of := map[string]int{}, map[string][]tools.Tool{}
	for _, t := range k.list {
		if s := k.mcp.Server(t.Name); s != "" {
			sizes[s] += size(t)
			of[s] = append(of[s], t)
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
func (k *kit) leaveOut(server string, list []tools.Tool, why string) error {
	for _, t := range list {
		delete(k.rules, t.Name)
	}
	k.list = slices.DeleteFunc(k.list, func(t tools.Tool) bool { return k.mcp.Server(t.Name) == server })
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
