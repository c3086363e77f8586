#include "CPages.h"

static const unsigned char common_style[] = {
#embed "common/page.css"
};
static const unsigned char common_script[] = {
#embed "common/page.js"
};
static const unsigned char common_failures[] = {
#embed "common/failures.js"
};
static const unsigned char english_texts[] = {
#embed "texts/en.json"
};
static const unsigned char korean_texts[] = {
#embed "texts/ko.json"
};
static const unsigned char german_texts[] = {
#embed "texts/de.json"
};
static const unsigned char docs_page[] = {
#embed "docs/page.html"
};
static const unsigned char docs_style[] = {
#embed "docs/page.css"
};
static const unsigned char docs_script[] = {
#embed "docs/page.js"
};
static const unsigned char map_page[] = {
#embed "map/page.html"
};
static const unsigned char map_style[] = {
#embed "map/page.css"
};
static const unsigned char map_view_style[] = {
#embed "map/view.css"
};
static const unsigned char map_script[] = {
#embed "map/page.js"
};
static const unsigned char map_view[] = {
#embed "map/view.js"
};
static const unsigned char map_search[] = {
#embed "map/search.js"
};
static const unsigned char map_place[] = {
#embed "map/place.js"
};
static const unsigned char map_groups[] = {
#embed "map/groups.js"
};
static const unsigned char map_land[] = {
#embed "map/land.js"
};
static const unsigned char map_sheet[] = {
#embed "map/sheet.js"
};
static const unsigned char map_live[] = {
#embed "map/live.js"
};
static const unsigned char map_draw[] = {
#embed "map/draw.js"
};
static const unsigned char map_areas[] = {
#embed "map/areas.js"
};
static const unsigned char map_review_style[] = {
#embed "map/review.css"
};
static const unsigned char map_review[] = {
#embed "map/review.js"
};
static const unsigned char map_request[] = {
#embed "map/request.js"
};
static const unsigned char map_symbols[] = {
#embed "map/symbols.js"
};
static const unsigned char map_hours[] = {
#embed "map/hours.js"
};
static const unsigned char ogc_style[] = {
#embed "ogc/page.css"
};
static const unsigned char ogc_script[] = {
#embed "ogc/page.js"
};
static const unsigned char status_page[] = {
#embed "status/page.html"
};
static const unsigned char status_style[] = {
#embed "status/page.css"
};
static const unsigned char status_script[] = {
#embed "status/page.js"
};

#define FILE(path, id, summary, bytes) {path, id, summary, bytes, sizeof bytes}

static const waymark_page_file files[] = {
  FILE("/docs", "getDocumentation", "Get the documentation page", docs_page),
  FILE("/docs/page.css", "getDocumentationStyle", "Get the documentation page's style", docs_style),
  FILE("/docs/page.js", "getDocumentationScript", "Get the documentation page's script", docs_script),
  FILE("/map", "getMap", "Get the map page", map_page),
  FILE("/map/page.css", "getMapStyle", "Get the map page's style", map_style),
  FILE("/map/view.css", "getMapViewStyle", "Get the style of the map itself", map_view_style),
  FILE("/map/page.js", "getMapScript", "Get the map page's script", map_script),
  FILE("/map/view.js", "getMapViewScript", "Get the map page's script of the map itself", map_view),
  FILE("/map/search.js", "getMapSearchScript", "Get the map page's script of the search", map_search),
  FILE("/map/place.js", "getMapPlaceScript", "Get the map page's script of places", map_place),
  FILE("/map/hours.js", "getMapHoursScript", "Get the map page's script of opening hours", map_hours),
  FILE("/map/groups.js", "getMapGroupsScript", "Get the map page's script of the drawn places", map_groups),
  FILE("/map/land.js", "getMapLandScript", "Get the map page's script of the built-in base map", map_land),
  FILE("/map/sheet.js", "getMapSheetScript", "Get the map page's script of the list on narrow screens", map_sheet),
  FILE("/map/live.js", "getMapLiveScript", "Get the map page's script of changes", map_live),
  FILE("/map/draw.js", "getMapDrawingScript", "Get the map page's script of areas and routes", map_draw),
  FILE("/map/areas.js", "getMapAreasScript", "Get the map page's script of named areas", map_areas),
  FILE("/map/review.css", "getMapReviewStyle", "Get the style of the map page's review of suggested edits", map_review_style),
  FILE("/map/review.js", "getMapReviewScript", "Get the map page's script of the review of suggested edits", map_review),
  FILE("/map/request.js", "getMapRequestScript", "Get the map page's script of requests and exports", map_request),
  FILE("/map/symbols.js", "getMapSymbolsScript", "Get the map page's script of symbols", map_symbols),
  FILE("/ogc/page.css", "getFeaturesStyle", "Get the style of the pages of features", ogc_style),
  FILE("/ogc/page.js", "getFeaturesScript", "Get the script of the pages of features", ogc_script),
  FILE("/status", "getStatus", "Get the operator's page", status_page),
  FILE("/status/page.css", "getStatusStyle", "Get the operator's page's style", status_style),
  FILE("/status/page.js", "getStatusScript", "Get the operator's page's script", status_script),
  FILE("/pages/common.css", "getCommonStyle", "Get the common style of the pages", common_style),
  FILE("/pages/common.js", "getCommonScript", "Get the common script of the pages", common_script),
  FILE("/pages/failures.js", "getFailuresScript", "Get the script that shows failures of others", common_failures),
};

static const waymark_page_texts texts[] = {
  {"en", english_texts, sizeof english_texts},
  {"ko", korean_texts, sizeof korean_texts},
  {"de", german_texts, sizeof german_texts},
};

waymark_page_texts waymark_texts(size_t index) {
  return index < sizeof texts / sizeof *texts ? texts[index] : (waymark_page_texts){0};
}

waymark_page_files waymark_pages(void) { return (waymark_page_files){files, sizeof files / sizeof *files}; }
