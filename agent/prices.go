package agent

import "nod/llm"

// Prices is money per million tokens.
type Prices struct{ Input, Cached, Output float64 }

// Cost is what a call cost; 0 without prices.
func (p *Prices) Cost(u llm.Usage) float64 {
	if p == nil {
		return 0
	}
	const million = 1e6
	return (float64(u.Prompt-u.Cached)*p.Input + float64(u.Cached)*p.Cached + float64(u.Completion)*p.Output) / million
}
