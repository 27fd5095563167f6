// Errors of a cluster.
// RUN: rondo-opt %s -split-input-file -verify-diagnostics

// expected-error @+1 {{cluster @lab has no devices}}
pipe.cluster @lab { }

// -----

pipe.cluster @lab {
  // expected-error @+1 {{memory_bytes is 0; the minimum is 1}}
  pipe.device @d0 <memory_bytes = 0>
}

// -----

pipe.cluster @lab {
  // expected-error @+1 {{flops_per_us is -1; the minimum is 0}}
  pipe.device @d0 <flops_per_us = -1>
}

// -----

// expected-error @+1 {{receive_slots is -2; the minimum is 0}}
pipe.cluster @lab channels<eager, receive_slots = -2> { pipe.device @d0 }

// -----

// expected-error @+1 {{receive_slots is 4294967296; the maximum is 2147483647}}
pipe.cluster @lab channels<eager, receive_slots = 4294967296> { pipe.device @d0 }

// -----

// expected-error @+1 {{latency_ns is -5; the minimum is 0}}
pipe.cluster @lab link<latency_ns = -5> { pipe.device @d0 }

// -----

// expected-note @+1 {{cluster @lab is here}}
pipe.cluster @lab {
  pipe.device @d0
  // expected-error @+1 {{device @d1 is not in cluster @lab}}
  pipe.link @d0 -> @d1 <latency_ns = 5>
}

// -----

pipe.cluster @lab {
  pipe.device @d0
  // expected-error @+1 {{a link leads from @d0 to itself; no link is needed within a device}}
  pipe.link @d0 -> @d0 <latency_ns = 5>
}

// -----

pipe.cluster @lab {
  pipe.device @d0
  pipe.device @d1
  // expected-error @+1 {{bytes_per_us is -1; the minimum is 0}}
  pipe.link @d0 -> @d1 <bytes_per_us = -1>
}

// -----

pipe.cluster @lab {
  pipe.device @d0
  pipe.device @d1
  // expected-note @+1 {{first given here}}
  pipe.link @d0 -> @d1 <latency_ns = 5>
  // expected-error @+1 {{link @d0 -> @d1 is given twice}}
  pipe.link @d0 -> @d1 <latency_ns = 6>
}

// -----

pipe.cluster @lab {
  // expected-note @+1 {{see existing symbol definition here}}
  pipe.device @d0
  // expected-error @+1 {{redefinition of symbol named 'd0'}}
  pipe.device @d0
}

// -----

// expected-note @+1 {{the body of this 'pipe.cluster'}}
pipe.cluster @lab {
  pipe.device @d0
  // expected-error @+1 {{'pipe.model' does not belong here; this body holds pipe.device, pipe.link, pipe.nic and pipe.host_link}}
  pipe.model @m { pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1> }
}

// -----

// expected-error @+1 {{expected one of eager, rendezvous, not 'quick'}}
pipe.cluster @lab channels<quick> { pipe.device @d0 }

// -----

pipe.cluster @lab {
  pipe.device @d0
  // expected-error @+1 {{NIC @nic has no devices; list those that share it}}
  pipe.nic @nic [] <bytes_per_us = 1>
}

// -----

pipe.cluster @lab {
  pipe.device @d0
  // expected-error @+1 {{bytes_per_us is 0; the minimum is 1}}
  pipe.nic @nic [@d0] <bytes_per_us = 0>
}

// -----

// expected-note @+1 {{cluster @lab is here}}
pipe.cluster @lab {
  pipe.device @d0
  // expected-error @+1 {{device @d1 is not in cluster @lab}}
  pipe.nic @nic [@d0, @d1] <bytes_per_us = 1>
}

// -----

pipe.cluster @lab {
  pipe.device @d0
  // expected-error @+1 {{NIC @nic lists device @d0 twice}}
  pipe.nic @nic [@d0, @d0] <bytes_per_us = 1>
}

// -----

pipe.cluster @lab {
  pipe.device @d0
  pipe.device @d1
  // expected-note @+1 {{NIC @nic0 is here}}
  pipe.nic @nic0 [@d0] <bytes_per_us = 1>
  // expected-error @+1 {{device @d0 is on NIC @nic0 already; a device is on at most one NIC}}
  pipe.nic @nic1 [@d1, @d0] <bytes_per_us = 1>
}

// -----

pipe.cluster @lab {
  pipe.device @d0
  // expected-error @+1 {{server is -2; it must be 0 to 2147483647}}
  pipe.nic @nic [@d0] <bytes_per_us = 1, server = -2>
}
