package snapshot

import "attestry/evidence/policy"

// Facts returns what a snapshot keeps of an artifact's facts. flows names its origins' flows.
func (a *Artifact) Facts(flows []string) policy.Facts {
	facts := policy.Facts{Name: a.Name, Fingerprint: a.Fingerprint}
	for i := range a.Origins {
		origin := &a.Origins[i]
		flow := policy.Flow{Name: flows[i], Trail: origin.Trail, Status: origin.Status}
		if origin.Shortfall != nil {
			flow.Shortfall = *origin.Shortfall
		}
		facts.Flows = append(facts.Flows, flow)
	}
	return facts
}
