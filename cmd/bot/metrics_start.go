package main

import (
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"nod/chat"
	"nod/llm"
	"nod/tools/mcp"
)

// begin makes the series that are known beforehand, so that each is there with a
// zero before the first event, and a rate of it sees that event
// (https://prometheus.io/docs/practices/instrumentation/#avoid-missing-metrics).
func (m *meter) begin() {
	for _, outcome := range []string{"answered", "stopped", "failed"} {
		m.turns.WithLabelValues(outcome)
	}
	for _, outcome := range []chat.Outcome{chat.Approved, chat.Denied, chat.Expired, chat.Cancelled} {
		m.approvals.WithLabelValues(strings.ToLower(string(outcome)))
	}
	for _, fault := range []llm.Fault{llm.Unreachable, llm.Overloaded, llm.Timeout, llm.Auth, llm.TooLong, llm.Refused, llm.Malformed, llm.Filtered} {
		m.calls.WithLabelValues(string(fault))
	}
	m.calls.WithLabelValues("ok")
	m.calls.WithLabelValues("cancelled")
	for _, kind := range []string{"prompt", "cached", "completion"} {
		m.tokens.WithLabelValues(kind)
	}
	for name := range m.known {
		for _, state := range []chat.CallState{chat.CallDone, chat.CallFailed} {
			m.tools.WithLabelValues(name, string(state))
		}
	}
}

// servers shows which MCP servers are connected.
func (m *meter) servers(all *mcp.Servers) {
	for name := range all.Up() {
		m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "nod_mcp_up", Help: "Whether an MCP server is connected.", ConstLabels: prometheus.Labels{"server": name},
		}, func() float64 {
			if all.Up()[name] {
				return 1
			}
			return 0
		}))
	}
}
