{"tables": {
   "Xlat_Zone": {
     "columns": {
       "zone": {
         "type": {"key": {"type": "integer",
                          "minInteger": 0,
                          "maxInteger": 65535}}},
       "name": {
         "type": {"key": {"type": "string",
                          "minLength": 1,
                          "maxLength": 64},
                  "min": 0, "max": 1}},
       "kind": {
         "type": {"key": {"type": "string",
                          "enum": ["set", ["siit", "nat64", "nat44",
                                           "ila"]]}}},
       "pool6": {
         "type": {"key": {"type": "string", "minLength": 4},
                  "min": 0, "max": "unlimited"}},
       "pool4": {
         "type": {"key": {"type": "string", "minLength": 7},
                  "min": 0, "max": "unlimited"}},
       "eamt": {
         "type": {"key": {"type": "string", "minLength": 2},
                  "value": {"type": "string", "minLength": 7},
                  "min": 0, "max": "unlimited"}},
       "bib": {
         "type": {"key": {"type": "string", "minLength": 1},
                  "min": 0, "max": "unlimited"}},
       "other_config": {
         "type": {"key": "string", "value": "string",
                  "min": 0, "max": "unlimited"}},
       "status": {
         "type": {"key": "string", "value": "string",
                  "min": 0, "max": "unlimited"},
         "ephemeral": true},
       "statistics": {
         "type": {"key": "string", "value": "integer",
                  "min": 0, "max": "unlimited"},
         "ephemeral": true}},
     "indexes": [["zone"]],
     "isRoot": true},
   "Ila_Mapping": {
     "columns": {
       "zone": {
         "type": {"key": {"type": "integer",
                          "minInteger": 0,
                          "maxInteger": 65535}}},
       "identifier": {
         "type": {"key": {"type": "string", "minLength": 2}}},
       "locator": {
         "type": {"key": {"type": "string", "minLength": 2}}},
       "csum_mode": {
         "type": {"key": {"type": "string",
                          "enum": ["set", ["adj-transport", "neutral-map",
                                           "neutral-map-auto",
                                           "no-action"]]},
                  "min": 0, "max": 1}},
       "ident_type": {
         "type": {"key": {"type": "string",
                          "enum": ["set", ["none", "iid", "luid",
                                           "v4", "v6", "v6-multicast",
                                           "nonlocal", "virt-v4",
                                           "virt-uni-v6", "virt-multi-v6",
                                           "nonlocal-addr"]]},
                  "min": 0, "max": 1}}},
     "indexes": [["zone", "identifier"]],
     "isRoot": true}}}
